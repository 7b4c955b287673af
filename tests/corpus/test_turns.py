from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from corpus.exchange import Exchange
from corpus.turns import HistoryMissingError, Turns, is_turn
from tests.corpus.test_exchange import REQUEST, response
from wire.errors import WireError


def turn(name: str, previous: str | None, *items: str, said: tuple[str, ...] = ()) -> Exchange:
    """A turn whose items are their own names; it goes on from the exchange `previous`."""
    body = {"type": "response.create", "model": "m", "input": [{"role": item} for item in items]}
    if previous:
        body["previous_response_id"] = f"resp-{previous}"
    data = orjson.dumps(body)
    messages = [
        orjson.dumps({"type": "response.output_item.done", "output_index": at, "item": {"role": item}})
        for at, item in enumerate(said)
    ]
    messages.append(orjson.dumps({"type": "response.completed", "response": {"id": f"resp-{name}"}}))
    answer = b"".join(message + b"\n" for message in messages)
    sizes = tuple(len(message) + 1 for message in messages)
    request = replace(REQUEST, exchange_id=name, api="openai-responses-ws", previous=previous, body=data)
    return Exchange(request, replace(response("complete"), body=answer, chunk_sizes=sizes))


def roles(body: bytes) -> list[str]:
    return [item["role"] for item in orjson.loads(body)["input"]]


def test_a_turn_is_the_one_before_with_its_output_and_what_is_new() -> None:
    turns = Turns()
    chain = [
        turn("e0", None),
        turn("e1", "e0", "tools", "question", said=("call",)),
        turn("e2", "e1", "result", said=("answer",)),
        turn("e3", "e2", "thanks"),
    ]
    bodies = [roles(turns.whole_body(exchange)) for exchange in chain]
    whole = ["tools", "question", "call", "result", "answer", "thanks"]
    assert bodies == [[], whole[:2], whole[:4], whole]


def test_a_whole_body_looks_like_a_post() -> None:
    body: dict[str, Any] = orjson.loads(Turns().whole_body(turn("e1", None, "question")))
    assert body == {"model": "m", "input": [{"role": "question"}]}


def test_two_turns_may_go_on_from_one() -> None:
    turns = Turns()
    turns.whole_body(turn("e1", None, "question", said=("answer",)))
    assert roles(turns.whole_body(turn("e2", "e1", "a"))) == ["question", "answer", "a"]
    assert roles(turns.whole_body(turn("e3", "e1", "b"))) == ["question", "answer", "b"]


def test_a_turn_on_nothing_known_is_an_error() -> None:
    turns = Turns()
    with pytest.raises(HistoryMissingError):
        turns.whole_body(turn("e2", "e1", "more"))


def test_a_turn_whose_link_was_lost_is_found_by_the_name_of_the_response() -> None:
    turns = Turns()
    turns.whole_body(turn("e1", None, "question", said=("answer",)))
    unlinked = turn("e2", "e1", "more")
    body = turns.whole_body(Exchange(replace(unlinked.request, previous=None), unlinked.response))
    assert roles(body) == ["question", "answer", "more"]


def test_a_turn_without_an_answer_is_whole_as_well() -> None:
    asked = turn("e1", None, "question").request
    assert roles(Turns().whole_body(Exchange(asked, None))) == ["question"]


def test_other_requests_are_what_they_are() -> None:
    exchange = Exchange(REQUEST, None)
    assert Turns().whole_body(exchange) == b"secret"
    handshake = Exchange(replace(REQUEST, api="openai-responses-ws", body=b""), None)
    assert not is_turn(handshake)
    assert Turns().whole_body(handshake) == b""


def test_a_turn_that_is_no_json_is_an_error() -> None:
    with pytest.raises(WireError):
        Turns().whole_body(Exchange(replace(REQUEST, api="openai-responses-ws"), None))
