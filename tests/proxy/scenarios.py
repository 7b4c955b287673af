"""Recorded scenarios as bytes: what the client sent, what the provider answered, and who hung up on whom."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson
import zstandard

from corpus.exchange import End
from tests.proxy.captured import CAPTURES, _claude_blobs, _lines
from tests.proxy.loopback import chunked
from wire.sse import format_sse

HangUp = Literal["nobody", "upstream", "client"]

_ENDS: dict[str, tuple[HangUp, End]] = {
    "complete": ("nobody", "complete"),
    "sse_error": ("nobody", "sse_error"),
    "server_dropped": ("upstream", "upstream_reset"),
}


@dataclass(frozen=True, slots=True)
class Posted:
    """One request and its answer; the answer's bytes are all the client gets before somebody hangs up."""

    head: bytes  # request line and headers, the Host's value left out
    body: bytes
    answer: bytes
    answer_body: bytes  # without chunks
    hang_up: HangUp
    end: End
    who: dict[str, str | None]


@dataclass(frozen=True, slots=True)
class Told:
    """One turn on a WebSocket: None where nothing came."""

    message: bytes
    answer: tuple[bytes, ...]
    end: End
    who: dict[str, str | None]


@dataclass(slots=True)
class Line:
    """One WebSocket connection."""

    head: bytes
    packed: bool
    turns: list[Told] = field(default_factory=list)
    hang_up: HangUp = "client"


def claude_scenario(name: str) -> Iterator[Posted]:
    blobs = _claude_blobs()
    for line in _lines(CAPTURES / "claude-code" / f"{name}.jsonl"):
        response = line["resp"]
        body = _compact(_whole(line["body"], blobs)) if line.get("body") is not None else b""
        hang_up, end = _ENDS.get(str(response["end"]), ("client", "client_abort"))
        events = [event for _, event in response.get("events") or []]
        raw = (line["resp"].get("fault") or {}).get("raw_body", "").encode() or _compact(response.get("body", {}))
        headers = list((response.get("headers") or {}).items())
        answer, answer_body = _answer(response["status"], headers, events, raw, line["method"], hang_up)
        head = _head(line["method"], line["path"], line["headers"], body)
        yield Posted(head, body, answer, answer_body, hang_up, end, _claude_identity(line["headers"]))


def codex_scenario(name: str) -> Iterator[Posted | Line]:
    """Requests and connections by their first byte; a connection holds all that was said on it."""
    lines = list(_lines(CAPTURES / "codex" / f"{name}.jsonl"))
    answers = {line["req"]: line for line in lines if line["kind"] in {"response", "ws_out"}}
    opened = {line["req"]: line for line in lines if line["kind"] == "ws_open"}
    for line in lines:
        if line["kind"] != "request":
            continue
        if line["n"] in opened:
            yield _line(line, opened[line["n"]], lines, answers)
        elif line["n"] in answers:
            yield _posted(line, answers[line["n"]])


def _posted(line: dict[str, Any], answer: dict[str, Any]) -> Posted:
    body = b"" if line["body"] is None else _compact(line["body"])
    if line["content_encoding"] == "zstd":
        body = zstandard.compress(body)
    events, fault = answer.get("events") or [], answer.get("fault") or {}
    hang_up: HangUp = "upstream" if "cut" in fault else "nobody"
    broken = any(event.get("type") in {"response.failed", "error"} for event in events)
    end: End = "upstream_reset" if hang_up == "upstream" else "sse_error" if broken else "complete"
    head = _head(line["method"], _target(line), line["headers"], body)
    raw = _compact(answer.get("body", {}))
    data, answer_body = _answer(answer["status"], answer.get("headers") or [], events, raw, line["method"], hang_up)
    return Posted(head, body, data, answer_body, hang_up, end, _codex_identity(line["body"]))


def _line(
    request: dict[str, Any], opened: dict[str, Any], lines: Sequence[dict[str, Any]], answers: dict[int, dict[str, Any]]
) -> Line:
    line = Line(_head("GET", _target(request), request["headers"], b""), opened["ext"] == "permessage-deflate")
    for said in lines:
        if said["kind"] == "ws_close" and said["ws"] == request["n"]:
            line.hang_up = "client" if said["code"] else "upstream"
        if said["kind"] != "ws_in" or said["ws"] != request["n"]:
            continue
        answer = answers.get(said["n"])
        events = answer["events"] if answer else []
        broken = any(event.get("type") in {"response.failed", "error"} for event in events)
        whole = any(event.get("type") == "response.completed" for event in events)
        cut: End = "upstream_reset" if answer and "cut" in (answer["fault"] or {}) else "client_abort"
        end: End = "sse_error" if broken else "complete" if whole else cut
        line.turns.append(
            Told(_compact(said["body"]), tuple(map(orjson.dumps, events)), end, _codex_identity(said["body"]))
        )
    return line


def _target(line: dict[str, Any]) -> str:
    return f"{line['path']}?{line['query']}" if line["query"] else str(line["path"])


def _head(method: str, target: str, headers: Sequence[Sequence[str]], body: bytes) -> bytes:
    lines = [f"{method} {target} HTTP/1.1"]
    for name, value in headers:
        kept = {"host": "", "content-length": str(len(body))}.get(name.lower(), value)
        lines.append(f"{name}: {kept}")
    return "\r\n".join(lines).encode()


def _answer(
    status: int | None,
    headers: Sequence[tuple[str, str]],
    events: Sequence[dict[str, Any]],
    body: bytes,
    method: str,
    hang_up: HangUp,
) -> tuple[bytes, bytes]:
    if status is None:
        return b"", b""
    kept = [(name, value) for name, value in headers if name.lower() not in {"content-length", "transfer-encoding"}]
    if method == "HEAD" or (not events and status == 204):
        return _response(status, [*kept, ("Content-Length", "0")]), b""
    if not events and hang_up == "nobody":
        return _response(status, [*kept, ("Content-Length", str(len(body)))]) + body, body
    pieces = [format_sse(event["type"], orjson.dumps(event)) for event in events]
    head = _response(status, [*kept, ("Transfer-Encoding", "chunked")])
    return head + chunked(*pieces) + (b"0\r\n\r\n" if hang_up == "nobody" else b""), b"".join(pieces)


def _response(status: int, headers: Sequence[tuple[str, str]]) -> bytes:
    lines = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode()


def _compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _whole(value: Any, blobs: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        return blobs[value["$blob"]] if "$blob" in value else {key: _whole(item, blobs) for key, item in value.items()}
    return [_whole(item, blobs) for item in value] if isinstance(value, list) else value


def _claude_identity(headers: Sequence[Sequence[str]]) -> dict[str, str | None]:
    said = {name.lower(): value for name, value in headers}
    return {
        "session_id": said.get("x-claude-code-session-id"),
        "agent_id": said.get("x-claude-code-agent-id"),
        "parent_agent_id": said.get("x-claude-code-parent-agent-id"),
    }


def _codex_identity(body: Any) -> dict[str, str | None]:
    """Nothing for what names itself nowhere: side calls, and threads that are attached by guessing."""
    metadata = body.get("client_metadata") if isinstance(body, dict) else None
    if not metadata:
        return {}
    turn = json.loads(metadata["x-codex-turn-metadata"])
    if turn.get("thread_source") in {"memory_consolidation", "thread_title"}:
        return {}
    session, thread, parent = turn["session_id"], turn["thread_id"], turn.get("parent_thread_id")
    return {
        "session_id": session,
        "agent_id": None if thread == session else thread,
        "parent_agent_id": None if parent == session else parent,
        "agent_name": turn.get("agent_name"),
        "turn_id": turn["turn_id"] or metadata.get("turn_id") or None,
    }
