from __future__ import annotations

import orjson
import pytest

from wire.errors import WireError
from wire.turns import ENDINGS, message_type, output_items, previous_response_id, response_id, status_of, whole_request


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (b'{"type":"response.create","model":"m"}', "response.create"),
        (b' { "type" : "error" } ', "error"),
        (b'{"a":{"type":"no"},"type":"yes"}', "yes"),
        (b'{"a":{"type":"no"}}', None),
        (b'{"type":"with \\"escapes\\""}', 'with "escapes"'),
        (b'{"type":7}', None),
        (b"[1]", None),
        (b"hello", None),
        (b"", None),
    ],
)
def test_a_message_is_what_its_own_type_says(message: bytes, kind: str | None) -> None:
    assert message_type(message) == kind


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (b'{"type":"response.created"}', 200),
        (b'{"type":"error","status":429}', 429),
        (b'{"type":"error","status_code":503}', 503),
        (b'{"type":"error","status":"x"}', 200),
        (b'{"type":"error"', 200),
        (b"noise", 200),
    ],
)
def test_an_error_brings_its_own_status(message: bytes, status: int) -> None:
    assert status_of(message) == status


def done(index: int, item: object) -> bytes:
    return orjson.dumps({"type": "response.output_item.done", "output_index": index, "item": item})


def completed(**response: object) -> bytes:
    return orjson.dumps({"type": "response.completed", "response": {"id": "r1"} | response})


def test_finished_items_are_what_a_turn_put_out() -> None:
    added = orjson.dumps({"type": "response.output_item.added", "output_index": 2, "item": {"type": "message"}})
    messages = [done(1, {"id": "b"}), done(0, {"id": "a"}), added, done(3, "no item")]
    assert output_items(messages) == [{"id": "a"}, {"id": "b"}]


def test_the_sum_at_the_end_serves_where_no_item_was_streamed() -> None:
    assert output_items([completed(output=[{"id": "a"}, 7])]) == [{"id": "a"}]
    assert output_items([done(0, {"id": "a"}), completed(output=[{"id": "a"}, {"id": "b"}])]) == [{"id": "a"}]
    assert output_items([completed(output=None), completed()]) == []


def test_broken_output_is_an_error() -> None:
    with pytest.raises(WireError):
        output_items([b'{"type":"response.output_item.done","item":'])


def test_a_turn_has_a_name_once_it_completed() -> None:
    assert response_id([done(0, {}), completed()]) == "r1"
    assert response_id([done(0, {})]) is None
    assert response_id([orjson.dumps({"type": "response.completed", "response": None})]) is None


def test_a_whole_request_is_history_then_what_is_new() -> None:
    request = {
        "type": "response.create",
        "model": "m",
        "previous_response_id": "r1",
        "input": [{"id": "c"}],
        "generate": False,
        "tools": [],
    }
    whole = {"model": "m", "input": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "tools": []}
    assert previous_response_id(request) == "r1"
    assert whole_request(request, [{"id": "a"}, {"id": "b"}]) == whole
    assert previous_response_id(whole) is None


def test_a_plain_text_input_is_a_message() -> None:
    (item,) = whole_request({"input": "hi"}, [])["input"]
    assert item["content"] == "hi"


def test_a_turn_ends_with_one_of_these() -> None:
    assert {"response.completed", "response.failed", "response.incomplete", "error"} <= ENDINGS
