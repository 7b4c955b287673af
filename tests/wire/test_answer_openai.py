from __future__ import annotations

from typing import Any

import orjson
import pytest

from wire.answer import Answer, read_answer, read_messages
from wire.payload import sealed
from wire.shapes import Part
from wire.sse import format_sse, split_sse
from wire.usage import Usage

SUMMARY = [{"type": "summary_text", "text": "look"}, {"type": "summary_text", "text": "first"}]
REASONING = {"type": "reasoning", "summary": SUMMARY, "encrypted_content": "ENC"}
CALL = {"type": "function_call", "name": "ls", "arguments": '{"p": 1}', "call_id": "c1", "status": "completed"}
MESSAGE = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "model": "gpt",
    "error": None,
    "output": [REASONING, CALL, MESSAGE],
    "usage": {"input_tokens": 18, "input_tokens_details": {"cached_tokens": 13}, "output_tokens": 2},
}
PARTS = (
    Part("thinking", "look\nfirst", 0, "reasoning"),
    sealed("ENC", 0, "reasoning", name="reasoning"),
    Part("tool_call", '{"p": 1}', 1, "function_call", call_id="c1", name="ls"),
    Part("assistant", "done", 2, "assistant"),
)
WHOLE = Answer("resp_1", "gpt", "completed", Usage(18, 13, None, 2, None), PARTS, None, complete=True)


def events() -> list[dict[str, Any]]:
    started = RESPONSE | {"status": "in_progress", "output": [], "usage": None}
    return [
        {"type": "response.created", "response": started},
        {"type": "response.output_item.added", "output_index": 0, "item": REASONING | {"summary": []}},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "lo"},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "ok"},
        {"type": "response.output_item.done", "output_index": 0, "item": REASONING},
        {"type": "response.output_item.added", "output_index": 1, "item": CALL | {"arguments": ""}},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": '{"p": '},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "1}"},
        {"type": "response.output_item.done", "output_index": 1, "item": CALL},
        {"type": "response.output_item.added", "output_index": 2, "item": MESSAGE | {"content": []}},
        {"type": "response.output_text.delta", "output_index": 2, "content_index": 0, "delta": "do"},
        {"type": "response.output_text.delta", "output_index": 2, "content_index": 0, "delta": "ne"},
        {"type": "response.output_item.done", "output_index": 2, "item": MESSAGE},
        {"type": "response.completed", "response": RESPONSE | {"output": []}},
    ]


def streamed(shapes: list[dict[str, Any]]) -> bytes:
    return b"".join(format_sse(shape["type"], orjson.dumps(shape)) for shape in shapes)


def read(shapes: list[dict[str, Any]]) -> Answer:
    return read_answer("openai-responses", streamed(shapes), "text/event-stream")


def test_stream_is_assembled_from_its_finished_items() -> None:
    assert read(events()) == WHOLE


def test_messages_of_a_websocket_turn_give_the_same_answer() -> None:
    body = b"".join(orjson.dumps(event) + b"\n" for event in events())
    assert read_answer("openai-responses-ws", body, None) == WHOLE
    spread = [orjson.dumps(event, option=orjson.OPT_INDENT_2) for event in events()]
    assert read_messages(spread) == WHOLE


def test_whole_json_response_gives_the_same_answer() -> None:
    assert read_answer("openai-responses", orjson.dumps(RESPONSE), "application/json") == WHOLE


def test_output_of_the_last_event_is_used_when_no_item_streamed() -> None:
    assert read([{"type": "response.completed", "response": RESPONSE}]) == WHOLE


def test_unfinished_items_show_what_had_streamed() -> None:
    assert read(events()[:4]).parts == (Part("thinking", "look", 0, "reasoning"), PARTS[1])
    assert read(events()[:7]).parts[2].text == '{"p": '
    cut = read(events()[:11])
    assert cut.parts[3].text == "do"
    assert (cut.stop, cut.usage, cut.complete) == (None, None, False)


def test_stream_cut_anywhere_is_incomplete() -> None:
    body = streamed(events())
    for end in range(len(body)):
        answer = read_answer("openai-responses", body[:end], "text/event-stream")
        assert answer.complete is False
        assert len(answer.parts) <= len(PARTS)
        assert bool(answer.message_id) is bool(split_sse(body[:end]))


def test_incomplete_response_tells_why() -> None:
    response = RESPONSE | {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    answer = read([*events()[:-1], {"type": "response.incomplete", "response": response}])
    assert (answer.stop, answer.complete, answer.parts) == ("max_output_tokens", True, PARTS)


@pytest.mark.parametrize("code", ["server_error", "context_length_exceeded"])
def test_failed_response_gives_its_error_code(code: str) -> None:
    failed = {"id": "resp_1", "status": "failed", "error": {"code": code, "message": "m"}}
    answer = read([*events()[:5], {"type": "response.failed", "response": failed}])
    assert (answer.stop, answer.error, answer.complete, answer.parts) == ("failed", code, False, PARTS[:2])
    assert read_answer("openai-responses", orjson.dumps(failed | {"output": []}), None).error == code
