"""Puts an answer into the OpenAI Responses protocol: the event sequence of a stream, or one JSON response.

Sequence: response.created, response.in_progress, for each item output_item.added, its deltas, output_item.done, then
response.completed, which carries all items and the usage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import orjson

from standin.answer import Block, Call, Compaction, FreeCall, Text, Thought
from standin.events import Frame, Names, pieces
from standin.provider_usage import Counted, text_tokens


def output_items(blocks: Sequence[Block], names: Names) -> list[dict[str, Any]]:
    return [_item(block, names, number) for number, block in enumerate(blocks)]


def _item(block: Block, names: Names, number: int) -> dict[str, Any]:
    name = names.make("", 32, number)
    match block:
        case Thought(text):
            summary = [{"type": "summary_text", "text": text[: text.find(".") + 1] or text}]
            opaque = names.opaque(200 + len(text), number)
            return {"type": "reasoning", "id": f"rs_{name}", "summary": summary, "encrypted_content": opaque}
        case Text(text):
            content = [{"type": "output_text", "text": text, "annotations": []}]
            head = {"type": "message", "id": f"msg_{name}", "status": "completed"}
            return head | {"role": "assistant", "content": content}
        case Call(tool, arguments, namespace):
            text = orjson.dumps(arguments).decode()
            call = {"type": "function_call", "id": f"fc_{name}", "call_id": f"call_{name[:24]}", "status": "completed"}
            call |= {"name": tool, "arguments": text}
            return call | ({"namespace": namespace} if namespace else {})
        case FreeCall(tool, text):
            call = {"type": "custom_tool_call", "id": f"ctc_{name}", "call_id": f"call_{name[:24]}"}
            return call | {"status": "completed", "name": tool, "input": text}
        case Compaction(chars, memo):
            return {
                "type": "compaction",
                "id": f"cmp_{name}",
                "encrypted_content": names.opaque(chars, number, memo=memo),
            }


def usage(counted: Counted, output: list[dict[str, Any]], *, at_least: int = 1) -> dict[str, Any]:
    """`at_least`: output tokens of an answer that says nothing."""
    reasoning, summary = (_sealed_tokens(output, kind) for kind in ("reasoning", "compaction"))
    said = reasoning + summary + sum(text_tokens(_said(item)) for item in output)
    return {
        "input_tokens": counted.input_tokens,
        "input_tokens_details": {"cached_tokens": counted.cached_tokens},
        "output_tokens": max(at_least, said),
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": counted.input_tokens + max(at_least, said),
    }


def _sealed_tokens(output: list[dict[str, Any]], kind: str) -> int:
    """Ciphertext in base64 is about half as long again as the text in it."""
    return sum(len(item["encrypted_content"]) // 6 for item in output if item["type"] == kind)


def whole(
    model: str, output: list[dict[str, Any]], names: Names, used: dict[str, Any], created_s: int
) -> dict[str, Any]:
    return _response(model, names, created_s, "completed", output, used)


def frames(
    model: str, output: list[dict[str, Any]], names: Names, used: dict[str, Any], created_s: int
) -> Iterator[Frame]:
    """The stream's events in order, numbered, each with the output tokens it brings."""
    started = _response(model, names, created_s, "in_progress", [], None)
    events: list[tuple[str, dict[str, Any], int]] = [
        ("response.created", {"response": started}, 0),
        ("response.in_progress", {"response": started}, 0),
    ]
    for index, item in enumerate(output):
        events += _item_events(index, item)
    finished = _response(model, names, created_s, "completed", output, used)
    events.append(("response.completed", {"response": finished}, 0))
    for number, (name, fields, tokens) in enumerate(events):
        yield Frame(name, orjson.dumps({"type": name, **fields, "sequence_number": number}), tokens)


def failed_frame(kind: str, names: Names) -> Frame:
    error = {"code": kind, "message": "The script says so."}
    response = {"id": names.make("resp_", 32), "object": "response", "status": "failed", "error": error}
    return Frame("response.failed", orjson.dumps({"type": "response.failed", "response": response}))


def _item_events(index: int, item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], int]]:
    place = {"item_id": item["id"], "output_index": index}
    blank = _BLANK.get(item["type"], {})
    yield "response.output_item.added", {"output_index": index, "item": item | blank}, 0
    match item["type"]:
        case "message":
            yield from _text_events(place, item["content"][0]["text"])
        case "reasoning":
            yield from _summary_events(place, item["summary"][0]["text"])
        case "function_call":
            for piece in pieces(item["arguments"]):
                yield "response.function_call_arguments.delta", place | {"delta": piece}, text_tokens(piece)
            yield "response.function_call_arguments.done", place | {"arguments": item["arguments"]}, 0
        case "custom_tool_call":
            for piece in pieces(item["input"]):
                yield "response.custom_tool_call_input.delta", place | {"delta": piece}, text_tokens(piece)
            yield "response.custom_tool_call_input.done", place | {"input": item["input"]}, 0
    yield "response.output_item.done", {"output_index": index, "item": item}, 0


_BLANK: Final[dict[str, dict[str, Any]]] = {
    "message": {"content": [], "status": "in_progress"},
    "reasoning": {"summary": []},
    "function_call": {"arguments": "", "status": "in_progress"},
    "custom_tool_call": {"input": "", "status": "in_progress"},
}


def _text_events(place: dict[str, Any], text: str) -> Iterator[tuple[str, dict[str, Any], int]]:
    place = place | {"content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": []}
    yield "response.content_part.added", place | {"part": part}, 0
    for piece in pieces(text):
        yield "response.output_text.delta", place | {"delta": piece}, text_tokens(piece)
    yield "response.output_text.done", place | {"text": text}, 0
    yield "response.content_part.done", place | {"part": part | {"text": text}}, 0


def _summary_events(place: dict[str, Any], text: str) -> Iterator[tuple[str, dict[str, Any], int]]:
    place = place | {"summary_index": 0}
    part = {"type": "summary_text", "text": ""}
    yield "response.reasoning_summary_part.added", place | {"part": part}, 0
    for piece in pieces(text):
        yield "response.reasoning_summary_text.delta", place | {"delta": piece}, text_tokens(piece)
    yield "response.reasoning_summary_text.done", place | {"text": text}, 0
    yield "response.reasoning_summary_part.done", place | {"part": part | {"text": text}}, 0


def _said(item: dict[str, Any]) -> str:
    match item["type"]:
        case "message":
            return str(item["content"][0]["text"])
        case "function_call":
            return str(item["name"] + item["arguments"])
        case "custom_tool_call":
            return str(item["name"] + item["input"])
    return ""


def _response(
    model: str, names: Names, created_s: int, status: str, output: list[dict[str, Any]], used: dict[str, Any] | None
) -> dict[str, Any]:
    head = {"id": names.make("resp_", 32), "object": "response", "created_at": created_s, "status": status}
    return head | {"model": model, "output": output, "usage": used}
