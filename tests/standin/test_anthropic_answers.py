"""What the Anthropic side writes, our own reader reads back."""

from typing import Any

import orjson
import pytest

from standin.answer import Block, Call, FreeCall, Text, Thought
from standin.anthropic_answers import error_frame, frames, message_blocks, output_tokens, stop_reason, usage, whole
from standin.events import Frame, Names
from standin.provider_usage import Counted
from wire.answer import read_answer
from wire.sse import format_sse

NAMES = Names("seed")
BLOCKS: list[Block] = [Thought("hm " * 60), Text("words " * 30), Call("Bash", {"command": "ls"}), FreeCall("run", "x")]
COUNTED = Counted(input_tokens=1000, cached_tokens=640, digest="d")


def stream(made: list[Frame]) -> bytes:
    return b"".join(format_sse(frame.event, frame.data) for frame in made)


def events() -> list[Frame]:
    content = message_blocks(BLOCKS, NAMES)
    return list(frames("m", content, NAMES, usage(COUNTED, output_tokens(content), caching=True), "tool_use"))


def test_a_stream_reads_back_as_the_answer() -> None:
    answer = read_answer("anthropic-messages", stream(events()), "text/event-stream")
    assert (answer.complete, answer.error, answer.stop, answer.model) == (True, None, "tool_use", "m")
    texts = {part.kind: part.text for part in answer.parts}
    assert texts["assistant"] == "words " * 30
    assert texts["thinking"] == "hm " * 60
    assert [part.name for part in answer.parts if part.kind == "tool_call"] == ["Bash", "run"]
    assert answer.usage
    assert (answer.usage.input_tokens, answer.usage.cache_read_tokens, answer.usage.cache_write_tokens) == (
        1000,
        640,
        320,
    )


def test_events_come_in_the_providers_order() -> None:
    names = [frame.event for frame in events()]
    assert names[:3] == ["message_start", "ping", "content_block_start"]
    assert names[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert names.count("content_block_start") == names.count("content_block_stop") == len(BLOCKS)


def test_the_plain_message_holds_the_same_blocks() -> None:
    content = message_blocks(BLOCKS, NAMES)
    body = orjson.dumps(whole("m", content, NAMES, usage(COUNTED, 5, caching=True), "tool_use"))
    plain = read_answer("anthropic-messages", body, "application/json")
    streamed = read_answer("anthropic-messages", stream(events()), "text/event-stream")
    assert [part.text for part in plain.parts] == [part.text for part in streamed.parts]
    assert plain.message_id == streamed.message_id


def test_without_cache_marks_nothing_is_read_or_written() -> None:
    used: dict[str, Any] = usage(COUNTED, 5, caching=False)
    assert (used["input_tokens"], used["cache_read_input_tokens"], used["cache_creation_input_tokens"]) == (1000, 0, 0)


def test_an_error_event_is_read_as_one() -> None:
    broken = stream([*events()[:4], error_frame("overloaded_error", "req_1")])
    answer = read_answer("anthropic-messages", broken, "text/event-stream")
    assert (answer.complete, answer.error) == (False, "overloaded_error")


@pytest.mark.parametrize(("blocks", "stop"), [(BLOCKS, "tool_use"), ([Text("x")], "end_turn")])
def test_the_stop_reason_tells_whether_tools_are_called(blocks: list[Block], stop: str) -> None:
    assert stop_reason(blocks) == stop
