"""Claude Code's side of the wire: headers, body and message shapes, byte order included.

Facts come from recorded traffic of version 2.1.328 in base-URL mode: sub-agents carry an agent id, only agents below
the first level also a parent id; the body starts with model and messages; one cache mark moves to the last block of
the last message, and a one-block text message that loses it becomes a plain string. No I/O here.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from standin.agent_texts import claude_identity, claude_system, claude_title_system, claude_tools
from standin.prose import chance, token
from wire.sse import split_sse

MODEL: Final = "claude-opus-5-5"
_VERSION: Final = "2.1.328"
_HEX: Final = "0123456789abcdef"
_MARK: Final = {"cache_control": {"type": "ephemeral"}}
_TURN_BETAS: Final = (
    "claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,"
    "per-turn-control-2026-07-01,mid-conversation-tool-changes-2026-07-01,thinking-token-count-2026-05-13,"
    "advanced-tool-use-2025-11-20,effort-2025-11-24"
)
_TITLE_BETAS: Final = (
    "claude-code-20250219,interleaved-thinking-2025-05-14,redact-thinking-2026-02-12,"
    "context-management-2025-06-27,per-turn-control-2026-07-01,effort-2025-11-24,structured-outputs-2025-12-15"
)
_FIXED_HEADERS: Final = (
    ("X-Stainless-Arch", "x64"),
    ("X-Stainless-Lang", "js"),
    ("X-Stainless-OS", "Linux"),
    ("X-Stainless-Package-Version", "0.128.0"),
    ("X-Stainless-Retry-Count", "0"),
    ("X-Stainless-Runtime", "node"),
    ("X-Stainless-Runtime-Version", "v26.12.1"),
    ("X-Stainless-Timeout", "600"),
)
_TITLE_SCHEMA: Final = {
    "type": "object",
    "properties": {"title": {"type": "string"}},
    "required": ["title"],
    "additionalProperties": False,
}
PROBE_HEADERS: Final = (
    ("Connection", "keep-alive"),
    ("User-Agent", "Bun/1.4.4"),
    ("Accept", "*/*"),
    ("Host", ""),
    ("Accept-Encoding", "gzip, deflate, br, zstd"),
)

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ClaudeIds:
    """One session, or one agent of it."""

    session_id: str
    device_id: str
    cwd: str
    agent_id: str | None = None  # None: the main agent
    parent_id: str | None = None  # set only where the parent is itself a sub-agent

    @property
    def is_main(self) -> bool:
        return self.agent_id is None

    def child(self, *seed: object) -> ClaudeIds:
        agent_id = "a" + token(16, self.session_id, "agent", *seed, alphabet=_HEX)
        return ClaudeIds(self.session_id, self.device_id, self.cwd, agent_id, self.agent_id)


def new_session(*seed: object) -> ClaudeIds:
    session_id = str(uuid.UUID(int=chance("session", *seed).getrandbits(128), version=4))
    device_id = token(64, "device", *seed, alphabet=_HEX)
    return ClaudeIds(session_id, device_id, f"/home/dev/work-{session_id[:4]}")


def headers(ids: ClaudeIds, *, title: bool = False) -> list[tuple[str, str]]:
    """In the order sent; Host and Content-Length are filled in by the sender."""
    out = [
        ("Accept", "application/json"),
        ("Content-Type", "application/json"),
        ("User-Agent", f"claude-cli/{_VERSION} (external, cli)"),
        ("X-Claude-Code-Session-Id", ids.session_id),
        *_FIXED_HEADERS,
        ("anthropic-beta", _TITLE_BETAS if title else _TURN_BETAS),
        ("anthropic-dangerous-direct-browser-access", "true"),
        ("anthropic-version", "2023-06-01"),
        ("x-api-key", "standin"),
        ("x-app", "cli"),
    ]
    if ids.agent_id and not title:
        out.append(("x-claude-code-agent-id", ids.agent_id))
        if ids.parent_id:
            out.append(("x-claude-code-parent-agent-id", ids.parent_id))
    out += [("Connection", "keep-alive"), ("Host", ""), ("Accept-Encoding", "gzip, deflate, br, zstd")]
    return [*out, ("Content-Length", "")]


def turn_body(ids: ClaudeIds, history: Sequence[Message]) -> bytes:
    main = ids.is_main
    return _body(
        messages=_render(history),
        system=[
            _billing(ids, _first_text(history)),
            {"type": "text", "text": claude_identity(), **_MARK},
            {"type": "text", "text": claude_system(main=main), **_MARK},
        ],
        tools=claude_tools(main=main),
        ids=ids,
        extra={
            "thinking": {"type": "adaptive", "display": "updates"},
            "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
            "output_config": {"effort": "medium"},
        },
    )


def title_body(ids: ClaudeIds, prompt: str) -> bytes:
    text = f"<session>\n{prompt}\n</session>\n\nName this session in a few words."
    return _body(
        messages=[{"role": "user", "content": [{"type": "text", "text": text}]}],
        system=[
            _billing(ids, text),
            {"type": "text", "text": claude_identity()},
            {"type": "text", "text": claude_title_system()},
        ],
        tools=(),
        ids=ids,
        extra={"output_config": {"effort": "medium", "format": {"type": "json_schema", "schema": _TITLE_SCHEMA}}},
    )


def _body(
    *, messages: list[Message], system: list[Message], tools: Sequence[Message], ids: ClaudeIds, extra: Message
) -> bytes:
    user = {"device_id": ids.device_id, "account_uuid": "", "session_id": ids.session_id}
    body: Message = {"model": MODEL, "messages": messages, "system": system, "tools": tools}
    body |= {"metadata": {"user_id": orjson.dumps(user).decode()}, "max_tokens": 128_000}
    return orjson.dumps(body | extra | {"stream": True})


def _billing(ids: ClaudeIds, first_text: str) -> Message:
    """Its three hex digits depend on the first user text, so they are constant within a conversation."""
    mark = token(3, "billing", first_text, alphabet=_HEX)
    line = f"x-anthropic-billing-header: cc_version={_VERSION}.{mark}; cc_entrypoint=cli;"
    return {"type": "text", "text": line if ids.is_main else f"{line} cc_is_subagent=true;"}


def _first_text(history: Sequence[Message]) -> str:
    return str(history[0]["content"][-1]["text"])


def _render(history: Sequence[Message]) -> list[Message]:
    """The messages as sent: the cache mark on the very last block, one-block texts elsewhere as strings."""
    out = []
    for message in history[:-1]:
        content = message["content"]
        plain = message["role"] != "assistant" and len(content) == 1 and content[0]["type"] == "text"
        out.append(message | {"content": content[0]["text"]} if plain else message)
    last = history[-1]
    return [*out, last | {"content": [*last["content"][:-1], last["content"][-1] | _MARK]}]


def read_content(stream: bytes) -> list[Message]:
    """The content blocks of a streamed answer, as the client repeats them in later requests."""
    blocks: list[Message] = []
    for event in split_sse(stream):
        data = orjson.loads(event.data)
        if data["type"] == "content_block_start":
            blocks.append(dict(data["content_block"]))
        elif data["type"] == "content_block_delta":
            for key, value in data["delta"].items():
                if key == "partial_json":
                    blocks[-1]["json"] = blocks[-1].get("json", "") + value
                elif key != "type":
                    blocks[-1][key] += value
    for block in blocks:
        if block["type"] == "tool_use":
            block["input"] = orjson.loads(block.pop("json", "") or "{}")
    return blocks


def is_whole(stream: bytes) -> bool:
    return b"event: message_stop" in stream


def tool_result(call_id: str, content: str | list[Message], *, is_error: bool | None = None) -> Message:
    if is_error:
        return {"type": "tool_result", "content": content, "is_error": True, "tool_use_id": call_id}
    done: Message = {"tool_use_id": call_id, "type": "tool_result", "content": content}
    return done if is_error is None else done | {"is_error": False}


def agent_started(agent_id: str) -> list[Message]:
    """The result of an Agent call that runs in the background."""
    text = f"The agent was started in the background.\nagentId: {agent_id} (for your own notes)\nYou will be notified."
    return [{"type": "text", "text": text}]


def agent_finished(agent_id: str, report: str, tokens: int, tools: int, milliseconds: int) -> list[Message]:
    """The result of an Agent call that was waited for."""
    note = f"agentId: {agent_id} (send it a message to go on)"
    usage = f"<usage>total_tokens: {tokens}\ntool_uses: {tools}\nduration_ms: {milliseconds}</usage>"
    return [{"type": "text", "text": f"{report}\n{note}\n{usage}"}]


def task_notification(
    agent_id: str, call_id: str, report: str, tokens: int, tools: int, milliseconds: int
) -> list[Message]:
    """User content that tells the parent what a background agent reported."""
    usage = f"<subagent_tokens>{tokens}</subagent_tokens><tool_uses>{tools}</tool_uses>"
    usage += f"<duration_ms>{milliseconds}</duration_ms>"
    lines = [
        "<system-reminder>",
        "<task-notification>",
        f"<task-id>{agent_id}</task-id>",
        f"<tool-use-id>{call_id}</tool-use-id>",
        "<status>completed</status>",
        f"<result>{report}</result>",
        f"<usage>{usage}</usage>",
        "</task-notification>",
        "</system-reminder>",
    ]
    used = "<system-reminder>\n<tools-used-before-summary>Bash</tools-used-before-summary>\n</system-reminder>\n"
    return [{"type": "text", "text": used}, {"type": "text", "text": "\n".join(lines)}]
