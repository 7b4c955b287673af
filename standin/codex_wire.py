"""Codex's side of the wire: identities, headers, turn metadata and body, byte order included.

Facts come from recorded traffic of version 0.171.0 with a gpt-6 model over HTTP: the turn metadata stands in a header
and, as a JSON string, in `client_metadata`, whose keys come in any order; the session id is also the prompt cache key
of all its threads. Input items are made in `codex_items`. No I/O here.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from standin.prose import chance, token

MODEL: Final = "gpt-6.2-sol"
_VERSION: Final = "0.171.0"
_AGENT: Final = f"codex_exec/{_VERSION} (Linux; x86_64) dumb (codex_exec; {_VERSION})"
EPOCH_MS: Final = 1_767_225_600_000
_HEX: Final = "0123456789abcdef"

Item = dict[str, Any]

# What is a header of a POST, and of no message, stands in a message's metadata; and when it was sent.
_OVER_WEBSOCKET: Final = (
    ("ws_request_header_x_openai_internal_codex_responses_lite", "true"),
    ("x-codex-ws-stream-request-start-ms", str(EPOCH_MS + 2500)),
)


@dataclass(frozen=True, slots=True)
class CodexIds:
    """One thread of a session at one turn; the root's thread id is the session id."""

    session_id: str
    thread_id: str
    name: str  # "/root/alpha"
    turn_id: str
    root_turn_id: str
    cwd: str
    parent_thread_id: str | None = None
    parent_turn_id: str | None = None

    @property
    def window_id(self) -> str:
        return f"{self.thread_id}:0"

    def child(self, task_name: str) -> CodexIds:
        """The thread a spawn call starts; its first turn is set by `at_turn`."""
        thread_id = uuid7(1000, self.thread_id, "child", task_name)
        name = f"{self.name}/{task_name}"
        return CodexIds(self.session_id, thread_id, name, "", self.root_turn_id, self.cwd, self.thread_id, self.turn_id)

    def at_turn(self, number: int, parent_turn_id: str | None = None) -> CodexIds:
        turn_id = uuid7(2000 + number, self.thread_id, "turn", number)
        root = turn_id if self.parent_thread_id is None else self.root_turn_id
        parent = parent_turn_id or self.parent_turn_id
        return CodexIds(
            self.session_id, self.thread_id, self.name, turn_id, root, self.cwd, self.parent_thread_id, parent
        )


def new_session(*seed: object) -> CodexIds:
    session_id = uuid7(0, "codex", *seed)
    return CodexIds(session_id, session_id, "/root", "", "", f"/home/dev/work-{session_id[-4:]}")


def uuid7(after_ms: int, *seed: object) -> str:
    """A version 7 UUID whose time is a fixed moment plus `after_ms`."""
    noise = chance("uuid7", *seed).getrandbits(74)
    value = (EPOCH_MS + after_ms) << 80 | 7 << 76 | (noise >> 62) << 64 | 2 << 62 | noise & (1 << 62) - 1
    return str(uuid.UUID(int=value))


def turn_metadata(ids: CodexIds, *, kind: str = "turn") -> str:
    """The JSON text of `x-codex-turn-metadata`; `kind` is `turn` or `prewarm`."""
    turn = kind == "turn"
    out: dict[str, Any] = {
        "installation_id": _installation(ids),
        "session_id": ids.session_id,
        "thread_id": ids.thread_id,
        "agent_name": ids.name,
        "turn_id": ids.turn_id if turn else "",
        "window_id": ids.window_id,
        "window_number": 0,
        "context_window_id": uuid7(1, ids.thread_id, "window"),
        "request_kind": kind,
        "history_initialization": "new",
    }
    if ids.parent_thread_id:
        out |= {"parent_thread_id": ids.parent_thread_id}
        out |= {"parent_turn_id": ids.parent_turn_id} if turn else {}
    if turn:
        out |= {"root_turn_id": ids.root_turn_id}
    if ids.parent_thread_id:
        out |= {"subagent_kind": "thread_spawn"}
    out |= {"thread_source": "subagent" if ids.parent_thread_id else "user"}
    if turn:
        out |= {"turn_trigger": "exec"}
    out |= {"sandbox": "none", "sandbox_mode": "danger-full-access", "auto_review_enabled": False}
    out |= {"node_repl_auto_review_required": True, "node_repl_disabled": False}
    if turn:
        commit = token(40, ids.cwd, alphabet=_HEX)
        out |= {"workspaces": {ids.cwd: {"latest_git_commit_hash": commit, "has_changes": True}}}
        out |= {"turn_started_at_unix_ms": EPOCH_MS + 2000}
    out |= {"analytics_enabled": True, "model": MODEL, "reasoning_effort": "low"}
    return orjson.dumps(out).decode()


def post_headers(ids: CodexIds, turn_state: str | None) -> list[tuple[str, str]]:
    """In the order sent; Host and Content-Length are filled in by the sender."""
    out = [("version", _VERSION), ("x-codex-beta-features", "remote_compaction_v2")]
    if turn_state:
        out.append(("x-codex-turn-state", turn_state))
    out += [("x-codex-window-id", ids.window_id), ("x-codex-turn-metadata", turn_metadata(ids))]
    if ids.parent_thread_id:
        out += [("x-codex-parent-thread-id", ids.parent_thread_id), ("x-openai-subagent", "collab_spawn")]
    return [
        *out,
        ("x-openai-internal-codex-responses-lite", "true"),
        ("x-client-request-id", ids.thread_id),
        ("session-id", ids.session_id),
        ("thread-id", ids.thread_id),
        ("Accept", "text/event-stream"),
        ("Content-Type", "application/json"),
        ("Authorization", "Bearer standin"),
        ("originator", "codex_exec"),
        ("User-Agent", _AGENT),
        ("Accept-Encoding", "zstd,gzip"),
        ("Host", ""),
        ("Content-Length", ""),
    ]


def upgrade_headers(ids: CodexIds) -> list[tuple[str, str]]:
    """The WebSocket handshake every thread tries first."""
    out = [
        ("Host", ""),
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", token(22, ids.thread_id, "key") + "=="),
        ("Authorization", "Bearer standin"),
        ("User-Agent", _AGENT),
        ("originator", "codex_exec"),
        ("openai-beta", "responses_websockets=2026-02-06"),
    ]
    if ids.parent_thread_id:
        out.append(("x-openai-subagent", "collab_spawn"))
    out += [
        ("version", _VERSION),
        ("x-codex-beta-features", "remote_compaction_v2"),
        ("x-client-request-id", ids.thread_id),
        ("session-id", ids.session_id),
        ("thread-id", ids.thread_id),
        ("x-codex-window-id", ids.window_id),
        ("x-codex-turn-metadata", turn_metadata(ids, kind="prewarm")),
    ]
    if ids.parent_thread_id:
        out.append(("x-codex-parent-thread-id", ids.parent_thread_id))
    return [*out, ("Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits")]


def turn_body(ids: CodexIds, history: Sequence[Item]) -> bytes:
    return orjson.dumps(_asked(history) | _settings(ids) | {"client_metadata": _client_metadata(ids, len(history))})


def turn_message(ids: CodexIds, new: Sequence[Item], previous: str | None, *seed: object) -> bytes:
    """A turn on a WebSocket: what is new since the response `previous`, or everything."""
    asked: dict[str, Any] = {"type": "response.create", "model": MODEL, "stream": True}
    asked |= {"previous_response_id": previous} if previous else {}
    asked |= {"input": new}
    metadata = _client_metadata(ids, *seed, extra=_OVER_WEBSOCKET)
    return orjson.dumps(asked | _settings(ids) | {"client_metadata": metadata})


def prewarm_message(ids: CodexIds, *seed: object) -> bytes:
    """The first message on a WebSocket: it readies the connection and generates nothing."""
    metadata = _client_metadata(ids, *seed, kind="prewarm", extra=_OVER_WEBSOCKET)
    asked = {"type": "response.create"} | _asked(())
    return orjson.dumps(asked | _settings(ids) | {"generate": False, "client_metadata": metadata})


def _asked(items: Sequence[Item]) -> dict[str, Any]:
    return {"model": MODEL, "stream": True, "input": items}


def _settings(ids: CodexIds) -> dict[str, Any]:
    return {
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "reasoning": {"effort": "low", "context": "all_turns"},
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": ids.session_id,
        "text": {"verbosity": "low"},
    }


def _client_metadata(
    ids: CodexIds, *seed: object, kind: str = "turn", extra: Sequence[tuple[str, str]] = ()
) -> dict[str, str]:
    fields = {
        "session_id": ids.session_id,
        "thread_id": ids.thread_id,
        "turn_id": ids.turn_id if kind == "turn" else "",
        "x-codex-window-id": ids.window_id,
        "x-codex-installation-id": _installation(ids),
        "x-codex-turn-metadata": turn_metadata(ids, kind=kind),
        "mcp_attribution": '{"status":"none"}',
    }
    fields |= dict(extra)
    if kind == "turn":
        fields |= {"root_turn_id": ids.root_turn_id}
    if ids.parent_thread_id:
        fields |= {"x-codex-parent-thread-id": ids.parent_thread_id, "x-openai-subagent": "collab_spawn"}
        if kind == "turn":
            fields |= {"parent_turn_id": ids.parent_turn_id or ""}
    order = list(fields)
    chance("metadata", ids.thread_id, *seed).shuffle(order)
    return {name: fields[name] for name in order}


def _installation(ids: CodexIds) -> str:
    return str(uuid.UUID(int=chance("installation", ids.session_id).getrandbits(128), version=4))
