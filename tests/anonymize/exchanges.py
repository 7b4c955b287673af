"""What the tests of this room are made of: tiny exchanges by hand, recorded ones from files, and a toy tokenizer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from numpy.typing import NDArray

from anonymize.session import Anonymized, anonymize_session
from corpus.exchange import End, Exchange, Identity, RequestRecord, ResponseRecord
from corpus.session import Session
from corpus.tokenizer import Tokenizer
from wire.api import api_of

KEY = bytes(range(32))
CAPTURES = Path(__file__).resolve().parents[2].parent / "shared" / "captures"
_WORD = re.compile(r"\w+|\W")

Json = dict[str, Any]
Ids = NDArray[np.uint32]


class WordTokenizer(Tokenizer):
    """Every word and every other character is a token; ids may be passed through a permutation of the vocabulary."""

    def __init__(self, permute: Callable[[Ids], Ids] | None = None) -> None:
        nothing = tokenizers.Tokenizer(tokenizers.models.WordLevel({}, unk_token=""))
        super().__init__("words", "0" * 64, np.ones(1 << 16, dtype=np.bool_), nothing, self._encode_words)
        self._permute = permute
        self._ids: dict[str, int] = {}
        self.calls = 0
        self.tokens = 0

    def _encode_words(self, texts: list[str]) -> list[Ids]:
        self.calls += len(texts)
        return [self._encode_text(text) for text in texts]

    def _encode_text(self, text: str) -> Ids:
        words = _WORD.findall(text)
        self.tokens += len(words)
        ids = np.array([self._ids.setdefault(word, len(self._ids)) for word in words], dtype=np.uint32)
        return ids if self._permute is None else self._permute(ids)


def anonymize(exchanges: Sequence[Exchange], tokenizer: Tokenizer | None = None, **changed: Any) -> Anonymized:
    """`anonymize_session` with everything plain."""
    plain: dict[str, Any] = {
        "number": 0,
        "block_size": 64,
        "max_input_tokens": 990_000,
        "keep_aux": False,
        "key": KEY,
    }
    return anonymize_session(exchanges, tokenizer=tokenizer or WordTokenizer(), **(plain | changed))


def session_of(exchanges: Sequence[Exchange], tokenizer: Tokenizer | None = None, **changed: Any) -> Session:
    session = anonymize(exchanges, tokenizer, **changed).session
    assert session is not None
    return session


def exchange(
    at_s: float,
    body: Json | bytes,
    events: Sequence[Json] | bytes,
    *,
    path: str = "/v1/messages",
    method: str = "POST",
    identity: Identity | None = None,
    retry_of: str | None = None,
    status: int | None = 200,
    end: End = "complete",
    end_s: float | None = None,
    first_s: float | None = None,
    exchange_id: str | None = None,
    content_type: str = "text/event-stream",
) -> Exchange:
    """One exchange; times in seconds of the same clock, `exchange_id` made from the start."""
    start_us, end_us = round(at_s * 1e6), round((at_s + 1 if end_s is None else end_s) * 1e6)
    made_id = exchange_id or f"x{start_us:015d}"
    heard = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    sent = events if isinstance(events, bytes) else b"".join(map(_sse, events))
    request = RequestRecord(
        exchange_id=made_id,
        t_request_us=start_us,
        t_body_us=start_us,
        method=method,
        path=path,
        api=api_of(method, path),
        upstream="http://127.0.0.1:1",
        headers=(("content-type", "application/json"),),
        identity=identity or Identity(session_id="s", purpose="turn", harness="claude-code", harness_version="2.1.328"),
        retry_of=retry_of,
        body_bytes=len(heard),
        body=heard,
    )
    response = ResponseRecord(
        exchange_id=made_id,
        end=end,
        status=status,
        headers=(("Content-Type", content_type),),
        t_headers_us=start_us,
        t_first_byte_us=None if first_s is None else round(first_s * 1e6),
        t_end_us=end_us,
        chunk_sizes=(len(sent),),
        chunk_times_us=(end_us - start_us,),
        usage=None,
        error=None,
        body_bytes=len(sent),
        body=sent,
    )
    return Exchange(request, response)


def _sse(event: Json) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


def claude_body(messages: Sequence[Json], **more: Any) -> Json:
    return {"model": "claude-opus-5-5", "messages": list(messages), "stream": True, **more}


def claude_answer(*blocks: Json, stop: str = "end_turn", output_tokens: int | None = 7) -> list[Json]:
    """The events of an answer with these content blocks (text, thinking, tool_use)."""
    usage = {"input_tokens": 5, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": []}
    events: list[Json] = [{"type": "message_start", "message": {**message, "usage": usage}}]
    for index, block in enumerate(blocks):
        events += _block_events(index, block)
    final = {} if output_tokens is None else {"output_tokens": output_tokens}
    events.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": final})
    return [*events, {"type": "message_stop"}]


def _block_events(index: int, block: Json) -> list[Json]:
    kind = block["type"]
    empty: Json = {"text": {**block, "text": ""}, "tool_use": {**block, "input": {}}}.get(
        kind, {"type": kind, kind: ""}
    )
    deltas: dict[str, list[Json]] = {
        "text": [{"type": "text_delta", "text": block.get("text", "")}],
        "tool_use": [{"type": "input_json_delta", "partial_json": json.dumps(block.get("input"))}],
        "thinking": [
            {"type": "thinking_delta", "thinking": block.get("thinking", "")},
            {"type": "signature_delta", "signature": block.get("signature", "")},
        ],
    }
    return [
        {"type": "content_block_start", "index": index, "content_block": empty},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas[kind]),
        {"type": "content_block_stop", "index": index},
    ]


def codex_answer(*items: Json) -> list[Json]:
    usage = {"input_tokens": 50, "output_tokens": 9, "input_tokens_details": {"cached_tokens": 3}}
    done = [{"type": "response.output_item.done", "output_index": n, "item": item} for n, item in enumerate(items)]
    response = {"id": "resp_1", "object": "response", "status": "completed", "model": "gpt-6.2-sol", "usage": usage}
    return [
        {"type": "response.created", "response": {**response, "status": "in_progress", "usage": None}},
        *done,
        {"type": "response.completed", "response": response},
    ]


def user(*blocks: Json | str) -> Json:
    return {
        "role": "user",
        "content": [{"type": "text", "text": one} if isinstance(one, str) else one for one in blocks],
    }


def assistant(*blocks: Json | str) -> Json:
    return {**user(*blocks), "role": "assistant"}


def tool_use(call_id: str, name: str, **given: Any) -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def tool_result(call_id: str, content: str | list[Json], **more: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def needs_captures() -> None:
    if not CAPTURES.is_dir():
        pytest.skip(f"no recorded captures at {CAPTURES.name}")


def claude_capture(scenario: str) -> list[Exchange]:
    """The exchanges of one recorded Claude Code scenario, in the order of its file."""
    needs_captures()
    folder = CAPTURES / "claude-code"
    blobs = json.loads((folder / "blobs.json").read_text())
    records = [_restored(json.loads(line), blobs) for line in (folder / f"{scenario}.jsonl").read_text().splitlines()]
    made: list[Exchange] = []
    for number, record in enumerate(records):
        response, headers = record["resp"], {name.lower(): value for name, value in record["headers"]}
        path = record["path"]
        body = record["body"] if isinstance(record["body"], dict) else {}
        events = [event for _, event in response.get("events") or []]
        one = exchange(
            record["t_start"],
            body,
            events or json.dumps(response.get("body")).encode(),
            path=path,
            method=record["method"],
            identity=_claude_identity(headers, body),
            status=response.get("status"),
            end=_end(str(response.get("end"))),
            end_s=response["t_end"],
            first_s=response.get("t_first"),
            exchange_id=f"x{number:06d}",
            content_type="text/event-stream" if events else "application/json",
        )
        made.append(_linked_to_failed(one, made))
    return made


def _claude_identity(headers: Mapping[str, str], body: Json) -> Identity:
    agent_id = headers.get("x-claude-code-agent-id")
    tools = body.get("tools") or []
    is_title = not tools and "format" in (body.get("output_config") or {})
    is_classifier = not body.get("stream") and not tools
    is_hook = bool(agent_id) and "context_management" not in body
    purpose = "title" if is_title else "classifier" if is_classifier else "hook" if is_hook else "turn"
    return Identity(
        session_id=headers.get("x-claude-code-session-id"),
        agent_id=agent_id,
        parent_agent_id=headers.get("x-claude-code-parent-agent-id"),
        agent_kind="subagent" if agent_id else "main",
        purpose=purpose,  # type: ignore[arg-type]  # one of the four words above
        harness="claude-code",
        harness_version="2.1.328",
    )


def _end(recorded: str) -> End:
    known: dict[str, End] = {"complete": "complete", "sse_error": "sse_error", "server_dropped": "upstream_reset"}
    return known.get(recorded, "client_abort")


def codex_capture(scenario: str) -> list[Exchange]:
    """The POST exchanges of one recorded Codex scenario, in the order of its file."""
    needs_captures()
    lines = (CAPTURES / "codex" / f"{scenario}.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    responses = {record["req"]: record for record in records if record["kind"] == "response"}
    made: list[Exchange] = []
    for record in records:
        if record["kind"] != "request" or not isinstance(record["body"], dict) or "input" not in record["body"]:
            continue
        response = responses.get(record["n"], {"t": record["t"], "status": None})
        events = response.get("events") or []
        one = exchange(
            record["t"],
            record["body"],
            events or json.dumps(response.get("body")).encode(),
            path=record["path"],
            method=record["method"],
            identity=codex_identity(record["body"]),
            status=response.get("status"),
            end_s=response["t"],
            exchange_id=f"x{record['n']:06d}",
            content_type="text/event-stream" if events else "application/json",
        )
        made.append(_linked_to_failed(one, made))
    return made


def codex_identity(body: Json) -> Identity:
    metadata = json.loads(body["client_metadata"]["x-codex-turn-metadata"])
    session_id, thread_id = metadata["session_id"], metadata["thread_id"]
    parent_id = metadata.get("parent_thread_id")
    return Identity(
        session_id=session_id,
        agent_id=None if thread_id == session_id else thread_id,
        parent_agent_id=None if parent_id == session_id else parent_id,
        agent_name=metadata.get("agent_name"),
        agent_kind="main" if thread_id == session_id else "subagent",
        purpose={"compaction": "compaction", "prewarm": "prewarm"}.get(metadata.get("request_kind"), "turn"),  # type: ignore[arg-type]  # words of Purpose
        harness="codex",
        harness_version="0.171.0",
    )


def _linked_to_failed(one: Exchange, earlier: Sequence[Exchange]) -> Exchange:
    """The exchange as the repetition of an earlier failed attempt with the same body, where there is one."""
    for before in reversed(earlier):
        response = before.response
        failed = response is None or response.status != 200 or response.end != "complete"
        if failed and before.request.body == one.request.body and before.request.identity == one.request.identity:
            changed = {name: getattr(one.request, name) for name in RequestRecord.__slots__}
            return Exchange(RequestRecord(**(changed | {"retry_of": before.request.exchange_id})), one.response)
    return one


def _restored(value: Any, blobs: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return (
            blobs[value["$blob"]] if "$blob" in value else {key: _restored(item, blobs) for key, item in value.items()}
        )
    return [_restored(item, blobs) for item in value] if isinstance(value, list) else value


def by_session(exchanges: Sequence[Exchange]) -> Iterator[list[Exchange]]:
    """The exchanges of each session, those without one left out."""
    sessions = dict.fromkeys(one.request.identity.session_id for one in exchanges)
    for session_id in sessions:
        if session_id is not None:
            yield [one for one in exchanges if one.request.identity.session_id == session_id]
