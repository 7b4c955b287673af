from __future__ import annotations

from typing import Any

import orjson

from wire.answer import Answer, read_answer
from wire.shapes import Part
from wire.sse import format_sse
from wire.usage import Usage

USAGE = {"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 8}}
PARTS = (
    Part("thinking", "hm", 0, "assistant"),
    Part("assistant", "so", 0, "assistant"),
    Part("tool_call", '{"p": 1}', 0, "assistant", call_id="c1", name="ls"),
    Part("tool_call", "{}", 0, "assistant", call_id="c2", name="pwd"),
)
WHOLE = Answer("chat_1", "m", "tool_calls", Usage(10, 8, None, 4, None), PARTS, None, complete=True)


def chunk(delta: dict[str, Any], finish: str | None = None, index: int = 0) -> dict[str, Any]:
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    return {"id": "chat_1", "model": "m", "choices": [choice], "usage": None}


def call(index: int, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, **more}]}


CHUNKS = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"reasoning_content": "h"}),
    chunk({"reasoning_content": "m"}),
    chunk({"content": "so"}),
    chunk(call(0, id="c1", function={"name": "ls", "arguments": ""})),
    chunk(call(0, function={"arguments": '{"p": '})),
    chunk(call(0, function={"arguments": "1}"})),
    chunk(call(1, id="c2", function={"name": "pwd", "arguments": "{}"})),
    chunk({}, "tool_calls"),
    {"id": "chat_1", "model": "m", "choices": [], "usage": USAGE},
]


def streamed(chunks: list[dict[str, Any]], *, done: bool = True) -> bytes:
    return b"".join(format_sse(None, orjson.dumps(c)) for c in chunks) + (b"data: [DONE]\n\n" if done else b"")


def read(body: bytes) -> Answer:
    return read_answer("openai-chat", body, None)


def test_chunks_are_assembled_into_one_message() -> None:
    assert read(streamed(CHUNKS)) == WHOLE


def test_whole_json_completion_gives_the_same_answer() -> None:
    message = {
        "role": "assistant",
        "content": "so",
        "reasoning_content": "hm",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"p": 1}'}},
            {"id": "c2", "type": "function", "function": {"name": "pwd", "arguments": "{}"}},
        ],
    }
    choices = [{"index": 0, "message": message, "finish_reason": "tool_calls"}]
    assert read(orjson.dumps({"id": "chat_1", "model": "m", "choices": choices, "usage": USAGE})) == WHOLE


def test_stream_without_its_closing_mark_is_incomplete() -> None:
    answer = read(streamed(CHUNKS[:6], done=False))
    assert (answer.complete, answer.usage, answer.stop) == (False, None, None)
    assert answer.parts[2].text == '{"p": '


def test_stop_reason_outlasts_later_chunks_that_name_none() -> None:
    assert read(streamed([chunk({"content": "a"}, "length"), chunk({})])).stop == "length"


def test_several_choices_are_several_messages() -> None:
    answer = read(streamed([chunk({"content": "b"}, "stop", index=1), chunk({"content": "a"}, "stop")]))
    assert [(part.text, part.message) for part in answer.parts] == [("a", 0), ("b", 1)]


def test_error_chunk_ends_an_answer_incomplete() -> None:
    answer = read(streamed([*CHUNKS[:4], {"error": {"message": "m", "type": "InternalServerError", "code": 500}}]))
    assert (answer.error, answer.complete, answer.parts) == ("InternalServerError", False, PARTS[:2])


def test_completion_without_choices_is_incomplete() -> None:
    assert read(b'{"id":"chat_1","object":"chat.completion"}') == Answer(message_id="chat_1")
