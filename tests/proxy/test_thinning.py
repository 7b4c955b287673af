from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.thinning import without_pieces
from wire.answer import read_answer
from wire.api import Api
from wire.sse import format_sse


def stream(*events: dict[str, object], named: bool = True) -> bytes:
    return b"".join(format_sse(str(event["type"]) if named else None, json.dumps(event).encode()) for event in events)


def delta(text: str) -> dict[str, object]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


START: dict[str, object] = {
    "type": "message_start",
    "message": {"id": "m", "usage": {"input_tokens": 3, "output_tokens": 1}},
}
OPEN: dict[str, object] = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
CLOSE: dict[str, object] = {"type": "content_block_stop", "index": 0}
END: dict[str, object] = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}
STOP: dict[str, object] = {"type": "message_stop"}
ERROR: dict[str, object] = {"type": "error", "error": {"type": "overloaded_error", "message": "m"}}


def test_of_pieces_in_a_row_the_first_stays() -> None:
    whole = stream(START, OPEN, delta("a"), delta("b"), delta("c"), CLOSE, OPEN, delta("d"), STOP)
    assert without_pieces(whole) == stream(START, OPEN, delta("a"), CLOSE, OPEN, delta("d"), STOP)


def test_responses_pieces_are_told_by_their_names() -> None:
    pieces: list[dict[str, object]] = [{"type": "response.output_text.delta", "delta": letter} for letter in "abc"]
    done: dict[str, object] = {"type": "response.completed", "response": {"id": "r"}}
    assert without_pieces(stream(*pieces, done)) == stream(pieces[0], done)


@pytest.mark.parametrize("body", [b"", b'{"a":\n\n1}', b"data: x\n\ndata: y\n\n", b"event: ping\r\ndata: 1\r\n\r\n"])
def test_anything_else_stays_as_it_is(body: bytes) -> None:
    assert without_pieces(body) == body


EVENTS = st.lists(st.sampled_from([START, OPEN, CLOSE, END, STOP, ERROR, delta("x"), delta("y"), delta("error")]))


@given(EVENTS, st.booleans(), st.integers(0, 5000))
def test_what_the_recorder_asks_of_an_answer_is_not_changed(
    events: list[dict[str, object]], named: bool, cut: int
) -> None:
    api: Api = "anthropic-messages"
    body = stream(*events, named=named)[:cut]
    whole = read_answer(api, body, "text/event-stream")
    thin = read_answer(api, without_pieces(body), "text/event-stream")
    assert (thin.usage, thin.error, thin.complete, thin.stop, thin.message_id) == (
        *(whole.usage, whole.error, whole.complete, whole.stop),
        whole.message_id,
    )
    assert [part.kind for part in thin.parts] == [part.kind for part in whole.parts]
