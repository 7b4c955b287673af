"""Puts an answer into the Anthropic Messages protocol: the event sequence of a stream, or one JSON message.

Sequence: message_start, ping, for each block content_block_start, content_block_delta..., content_block_stop, then
message_delta (stop reason, final usage), message_stop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import orjson

from standin.answer import Block, Call, Compaction, FreeCall, Text, Thought, calls_tools
from standin.events import Frame, Names, pieces
from standin.provider_usage import Counted, text_tokens

_JSON_PIECE: Final = 160  # characters of tool input in one delta


def message_blocks(blocks: Sequence[Block], names: Names) -> list[dict[str, Any]]:
    """The message's `content`."""
    return [_block(block, names, number) for number, block in enumerate(blocks)]


def _block(block: Block, names: Names, number: int) -> dict[str, Any]:
    match block:
        case Thought(text):
            signature = names.opaque(180 + len(text) // 2, "signature", number)
            return {"type": "thinking", "thinking": text, "signature": signature}
        case Text(text):
            return {"type": "text", "text": text}
        case Call(name, arguments):
            return {"type": "tool_use", "id": names.make("toolu_01", 22, number), "name": name, "input": arguments}
        case FreeCall(name, text):
            return {
                "type": "tool_use",
                "id": names.make("toolu_01", 22, number),
                "name": name,
                "input": {"input": text},
            }
        case Compaction():
            raise AssertionError("compaction items exist in the Responses protocol only")


def usage(counted: Counted, output_tokens: int, *, caching: bool) -> dict[str, Any]:
    """`input_tokens` is what was neither read from the cache nor written to it, as the provider defines it."""
    read, written = (counted.cached_tokens, counted.written_tokens) if caching else (0, 0)
    return {
        "input_tokens": counted.input_tokens - read - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output_tokens,
        "service_tier": "standard",
    }


def whole(model: str, content: list[dict[str, Any]], names: Names, used: dict[str, Any], stop: str) -> dict[str, Any]:
    return _message(model, names, content, stop, used)


def stop_reason(blocks: Sequence[Block]) -> str:
    return "tool_use" if calls_tools(blocks) else "end_turn"


def output_tokens(content: list[dict[str, Any]]) -> int:
    return max(1, sum(text_tokens(orjson.dumps(_visible(block)).decode()) for block in content))


def frames(model: str, content: list[dict[str, Any]], names: Names, used: dict[str, Any], stop: str) -> Iterator[Frame]:
    """The stream's events in order, each with the output tokens it brings."""
    opening = _message(model, names, [], None, used | {"output_tokens": 1})
    yield _frame({"type": "message_start", "message": opening})
    yield _frame({"type": "ping"})
    for index, block in enumerate(content):
        yield from _block_frames(index, block)
    delta = {"stop_reason": stop, "stop_sequence": None}
    yield _frame({"type": "message_delta", "delta": delta, "usage": used})
    yield _frame({"type": "message_stop"})


def error_frame(kind: str, request_id: str) -> Frame:
    error = {"type": kind, "message": "The script says so."}
    return _frame({"type": "error", "error": error, "request_id": request_id})


def _block_frames(index: int, block: dict[str, Any]) -> Iterator[Frame]:
    yield _frame({"type": "content_block_start", "index": index, "content_block": block | _EMPTY[block["type"]]})
    for delta in _deltas(block):
        said = delta.get("text") or delta.get("thinking") or delta.get("partial_json") or ""
        yield _frame({"type": "content_block_delta", "index": index, "delta": delta}, text_tokens(said))
    yield _frame({"type": "content_block_stop", "index": index})


_EMPTY: Final[dict[str, dict[str, Any]]] = {
    "thinking": {"thinking": "", "signature": ""},
    "text": {"text": ""},
    "tool_use": {"input": {}},
}


def _deltas(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    match block["type"]:
        case "thinking":
            for text in pieces(block["thinking"]):
                yield {"type": "thinking_delta", "thinking": text}
            yield {"type": "signature_delta", "signature": block["signature"]}
        case "text":
            for text in pieces(block["text"]):
                yield {"type": "text_delta", "text": text}
        case "tool_use":
            yield {"type": "input_json_delta", "partial_json": ""}
            for text in pieces(orjson.dumps(block["input"]).decode(), _JSON_PIECE):
                yield {"type": "input_json_delta", "partial_json": text}


def _visible(block: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key not in {"signature", "id"}}


def _message(
    model: str, names: Names, content: list[dict[str, Any]], stop: str | None, used: dict[str, Any]
) -> dict[str, Any]:
    return {
        "id": names.make("msg_01", 22),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": used,
    }


def _frame(event: dict[str, Any], tokens: int = 0) -> Frame:
    return Frame(event["type"], orjson.dumps(event), tokens)
