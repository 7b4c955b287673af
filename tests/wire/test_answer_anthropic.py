from __future__ import annotations

from typing import Any

import orjson

from wire.answer import Answer, read_answer
from wire.payload import sealed
from wire.shapes import Part
from wire.sse import format_sse, split_sse
from wire.usage import Usage

START_USAGE = {"input_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 0, "output_tokens": 1}
BLOCKS: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    (
        {"type": "thinking", "thinking": "", "signature": ""},
        [{"type": "thinking_delta", "thinking": "hm"}, {"type": "signature_delta", "signature": "SIG"}],
    ),
    ({"type": "text", "text": ""}, [{"type": "text_delta", "text": "a"}, {"type": "text_delta", "text": "é"}]),
    (
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}},
        [{"type": "input_json_delta", "partial_json": p} for p in ("", '{"command": ', '"ls"}')],
    ),
    ({"type": "tool_use", "id": "t2", "name": "Now", "input": {}}, []),
]
PARTS = (
    Part("thinking", "hm", 0, "assistant"),
    sealed("SIG", 0, "assistant", name="thinking"),
    Part("assistant", "aé", 0, "assistant"),
    Part("tool_call", '{"command":"ls"}', 0, "assistant", call_id="t1", name="Bash"),
    Part("tool_call", "{}", 0, "assistant", call_id="t2", name="Now"),
)


def events() -> list[dict[str, Any]]:
    message = {"id": "msg_1", "type": "message", "model": "claude", "content": [], "usage": START_USAGE}
    stream: list[dict[str, Any]] = [{"type": "message_start", "message": message}, {"type": "ping"}]
    for index, (block, deltas) in enumerate(BLOCKS):
        stream.append({"type": "content_block_start", "index": index, "content_block": block})
        stream += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        stream.append({"type": "content_block_stop", "index": index})
    usage = {"output_tokens": 31, "input_tokens": None}
    stream.append({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": usage})
    stream.append({"type": "message_stop"})
    return stream


def streamed(shapes: list[dict[str, Any]]) -> bytes:
    return b"".join(format_sse(shape["type"], orjson.dumps(shape)) for shape in shapes)


def read(body: bytes) -> Answer:
    return read_answer("anthropic-messages", body, "text/event-stream" if body[:1] == b"e" else "application/json")


def test_stream_is_assembled_into_the_blocks_a_later_request_repeats() -> None:
    answer = read(streamed(events()))
    assert answer == Answer("msg_1", "claude", "tool_use", Usage(12, 7, 0, 31, None), PARTS, None, complete=True)


def test_whole_json_message_gives_the_same_answer() -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "SIG"},
        {"type": "text", "text": "aé"},
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
        {"type": "tool_use", "id": "t2", "name": "Now", "input": {}},
    ]
    usage = START_USAGE | {"output_tokens": 31}
    message = {"id": "msg_1", "model": "claude", "content": content, "stop_reason": "tool_use", "usage": usage}
    assert read(orjson.dumps(message)) == read(streamed(events()))


def test_stream_cut_anywhere_is_incomplete_and_has_what_came() -> None:
    body = streamed(events())
    whole = len(split_sse(body))
    for end in range(len(body)):
        came = len(split_sse(body[:end]))
        answer = read(body[:end])
        assert answer.complete is (came == whole)
        if came > 0:
            assert answer.message_id == "msg_1"
            assert answer.usage is not None
            assert answer.usage.input_tokens == 12
        for part, expected in zip(answer.parts, PARTS, strict=False):
            assert part.kind == expected.kind


def test_output_count_of_a_cut_stream_is_unknown_not_the_placeholder_of_its_start() -> None:
    answer = read(streamed(events()[:4]))
    assert answer.usage == Usage(12, 7, 0, None, None)
    assert answer.stop is None


def test_cut_arguments_stay_text() -> None:
    shapes = [shape for shape in events() if shape.get("index", 2) == 2][:5]
    assert read(streamed(shapes)).parts == (
        Part("tool_call", '{"command": ', 0, "assistant", call_id="t1", name="Bash"),
    )


def test_last_counts_win_over_those_of_the_start() -> None:
    shapes = events()
    shapes[-2]["usage"] = {"input_tokens": 50, "cache_read_input_tokens": 70, "output_tokens": 31}
    assert read(streamed(shapes)).usage == Usage(120, 70, 0, 31, None)


def test_token_count_answer_is_a_usage() -> None:
    answer = read(b'{"input_tokens": 2095}')
    assert (answer.usage, answer.parts) == (Usage(input_tokens=2095), ())


def test_ping_only_stream_says_nothing() -> None:
    assert read(streamed([{"type": "ping"}])) == Answer()
