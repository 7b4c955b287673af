"""What the OpenAI side writes, our own reader reads back."""

import orjson

from standin.answer import Block, Call, Compaction, FreeCall, Text, Thought
from standin.events import Frame, Names
from standin.provider_usage import Counted
from standin.responses_answers import failed_frame, frames, output_items, usage, whole
from wire.answer import read_answer
from wire.sse import format_sse

NAMES = Names("seed")
BLOCKS: list[Block] = [
    Thought("First. Then more."),
    Call("wait_agent", {"timeout_ms": 5}, "collaboration"),
    FreeCall("exec", "text('x');"),
    Text("words " * 30),
]
OUTPUT = output_items(BLOCKS, NAMES)
USED = usage(Counted(input_tokens=1000, cached_tokens=640, digest="d"), OUTPUT)


def stream(made: list[Frame]) -> bytes:
    return b"".join(format_sse(frame.event, frame.data) for frame in made)


def test_a_stream_reads_back_as_the_answer() -> None:
    made = list(frames("m", OUTPUT, NAMES, USED, 9))
    answer = read_answer("openai-responses", stream(made), "text/event-stream")
    assert (answer.complete, answer.error, answer.model) == (True, None, "m")
    assert [part.name for part in answer.parts if part.kind == "tool_call"] == ["wait_agent", "exec"]
    assert [part.text for part in answer.parts if part.kind == "assistant"] == ["words " * 30]
    assert answer.usage
    assert (answer.usage.input_tokens, answer.usage.cache_read_tokens) == (1000, 640)
    assert answer.usage.reasoning_tokens


def test_events_are_numbered_and_every_item_is_added_and_done() -> None:
    made = list(frames("m", OUTPUT, NAMES, USED, 9))
    assert [orjson.loads(frame.data)["sequence_number"] for frame in made] == list(range(len(made)))
    names = [frame.event for frame in made]
    assert (names[0], names[-1]) == ("response.created", "response.completed")
    assert names.count("response.output_item.added") == names.count("response.output_item.done") == len(BLOCKS)


def test_the_plain_response_holds_the_same_items() -> None:
    body = orjson.dumps(whole("m", OUTPUT, NAMES, USED, 9))
    plain = read_answer("openai-responses", body, "application/json")
    assert [part.kind for part in plain.parts if part.kind != "opaque"] == [
        "thinking",
        "tool_call",
        "tool_call",
        "assistant",
    ]


def test_totals_add_up() -> None:
    assert USED["total_tokens"] == USED["input_tokens"] + USED["output_tokens"]
    assert USED["output_tokens_details"]["reasoning_tokens"] < USED["output_tokens"]


def test_a_compaction_is_one_opaque_item() -> None:
    (item,) = output_items([Compaction(400)], NAMES)
    assert (item["type"], len(item["encrypted_content"])) == ("compaction", 400)
    assert usage(Counted(1000, 640, "d"), [item])["output_tokens"] == 400 // 6


def test_a_failed_event_is_read_as_an_error() -> None:
    made = [*list(frames("m", OUTPUT, NAMES, USED, 9))[:4], failed_frame("server_error", NAMES)]
    answer = read_answer("openai-responses", stream(made), "text/event-stream")
    assert (answer.complete, answer.error) == (False, "server_error")
