from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.answer import Answer, read_answer
from wire.api import Api
from wire.sse import format_sse

APIS: tuple[Api, ...] = ("anthropic-messages", "openai-responses", "openai-responses-ws", "openai-chat", "other")
SSE = "text/event-stream; charset=utf-8"

MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "model": "claude",
    "content": [{"type": "text", "text": "hi"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 5, "output_tokens": 1},
}


@pytest.mark.parametrize("content_type", ["application/json", None, SSE, "text/plain"])
def test_body_that_opens_an_object_is_json_whatever_its_type_says(content_type: str | None) -> None:
    answer = read_answer("anthropic-messages", b"\n" + orjson.dumps(MESSAGE), content_type)
    assert (answer.message_id, answer.stop, answer.complete) == ("msg_1", "end_turn", True)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("content_type", ["text/html", SSE, None])
@pytest.mark.parametrize("body", [b"", b"<html>502 Bad Gateway</html>", b'{"id":"msg_1","con', b"\xff\xfe", b"[]"])
def test_unreadable_body_is_an_answer_of_which_nothing_is_known(
    api: Api, content_type: str | None, body: bytes
) -> None:
    assert read_answer(api, body, content_type) == Answer()


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}, "overloaded_error"),
        ({"error": {"message": "m", "type": "server_error", "code": None}}, "server_error"),
        ({"error": {"message": "m", "type": "invalid_request_error", "code": "too_long"}}, "too_long"),
        ({"error": {"message": "m", "type": "BadRequestError", "code": 400}}, "BadRequestError"),
        ({"object": "error", "message": "m", "type": "NotFoundError", "code": 404}, "NotFoundError"),
        ({"error": "something went wrong with a private word"}, "error"),
    ],
)
def test_error_bodies_give_the_provider_s_code_or_type(api: Api, body: dict[str, Any], error: str) -> None:
    assert read_answer(api, orjson.dumps(body), "application/json") == Answer(error=error)


def test_error_event_ends_an_answer_incomplete() -> None:
    stream = format_sse("message_start", orjson.dumps({"type": "message_start", "message": MESSAGE}))
    stream += format_sse("error", b'{"type":"error","error":{"type":"overloaded_error","message":"m"}}')
    answer = read_answer("anthropic-messages", stream, SSE)
    assert (answer.message_id, answer.error, answer.complete) == ("msg_1", "overloaded_error", False)


def test_error_event_of_responses_has_its_code_beside_its_type() -> None:
    stream = format_sse("error", b'{"type":"error","code":"rate_limit_exceeded","message":"m","param":null}')
    assert read_answer("openai-responses", stream, SSE) == Answer(error="rate_limit_exceeded")


def test_events_after_a_broken_one_are_not_trusted() -> None:
    stream = format_sse("message_start", orjson.dumps({"type": "message_start", "message": MESSAGE}))
    stream += format_sse("x", b"{broken") + format_sse("message_stop", b'{"type":"message_stop"}')
    assert read_answer("anthropic-messages", stream, SSE).complete is False


KEYS = (
    "type index message delta usage content_block response item output_index choices finish_reason error content text"
)
WORDS = [
    "message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop", "text_delta",
    "response.output_item.added", "response.output_item.done", "response.output_text.delta", "response.completed",
    "error", "message", "text",
]  # fmt: skip
values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=5),
    max_leaves=20,
)
events = st.dictionaries(st.sampled_from(KEYS.split()), values)


@given(st.sampled_from(APIS), st.lists(events, max_size=6), st.booleans())
def test_no_shape_of_body_raises(api: Api, shapes: list[dict[str, Any]], streamed: bool) -> None:
    body = b"".join(format_sse(None, orjson.dumps(shape)) for shape in shapes)
    if not streamed:
        body = orjson.dumps(shapes[0] if shapes else {})
    answer = read_answer(api, body, SSE if streamed else "application/json")
    assert not (answer.complete and answer.error)
