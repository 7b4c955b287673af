from __future__ import annotations

import json
import random
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy import histories
from proxy.histories import WORTH_BYTES, Histories, MessageList
from wire.errors import WireError
from wire.jsonbody import parse_object

MESSAGES = MessageList("messages", (b',{"role":',))
LONG = "x" * WORTH_BYTES


def reader(**changes: int) -> Histories[tuple[Any, ...]]:
    return Histories((), lambda before, messages: (*before, *messages), **changes)


def message(text: str, **more: object) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]} | more


def body(*messages: object, **more: object) -> bytes:
    return orjson.dumps({"model": "m", "messages": list(messages), "tools": [LONG]} | more)


def whole(read: tuple[dict[str, Any], tuple[Any, ...]]) -> dict[str, Any]:
    request, before = read
    return request | {"messages": [*before, *request["messages"]]}


def test_only_what_a_turn_added_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    read = reader()
    said = [message(f"{number} " + "word " * 2000) for number in range(20)]
    read.read("a", body(*said[:17], message("now", cache_control={})), MESSAGES)
    parsed: list[int] = []

    def parse(text: bytes) -> dict[str, Any]:
        parsed.append(len(text))
        return parse_object(text)

    monkeypatch.setattr(histories, "parse_object", parse)
    longer = body(*said[:17], message("now"), *said[17:], message("then", cache_control={}))
    request, before = read.read("a", longer, MESSAGES)
    assert len(before) == 21
    assert sum(parsed) < len(longer) / 3
    assert whole((request, before)) == orjson.loads(longer)


def test_changes_before_the_messages_do_not_matter() -> None:
    read = reader()
    said = [message(f"{number} {LONG}") for number in range(3)]
    read.read("a", orjson.dumps({"system": "one", "messages": said}), MESSAGES)
    again = orjson.dumps({"system": "another", "messages": [*said, message("new")]})
    assert whole(read.read("a", again, MESSAGES)) == orjson.loads(again)
    assert len(read.read("a", again, MESSAGES)[1]) == 3


@pytest.mark.parametrize(
    "odd",
    [
        b'{"messages":[,{"role":"user"}],"x":"' + LONG.encode() + b'"}',
        b'{"messages":[{"role":"user"},{"role":"user"}],"x":"' + LONG.encode() + b'"',
        b'{"messages":[{"role":"user"}],"y":[1,{"role":"user"}],"x":"' + LONG.encode() + b'"}}',
        b'[{"messages":[{"role":"user"},{"role":"user"}],"x":"' + LONG.encode() + b'"}]',
    ],
)
def test_what_is_no_json_object_is_refused(odd: bytes) -> None:
    with pytest.raises(WireError):
        reader().read("a", odd, MESSAGES)


@pytest.mark.parametrize(
    "odd",
    [
        {"messages": "text"},
        {"messages": []},
        {"messages": [1, 2]},
        {"x": {"messages": [{"role": "a"}, {"role": "b"}]}, "messages": [{"role": "c"}]},
        {"messages": [{"role": "a"}], "more": [0, {"role": "b"}]},
        {"messages": [{"role": "a", "content": [0, {"role": "b"}]}]},
        {"messages": [{"role": "\ud83d"}, {"role": "b"}]},
        {"messages2": [0, {"role": "b"}]},
    ],
)
def test_odd_shapes_are_read_as_they_are(odd: dict[str, Any]) -> None:
    read = reader()
    sent = with_surrogates(odd | {"long": LONG})
    for _ in range(2):
        request, before = read.read("a", sent, MESSAGES)
        assert (whole((request, before)) if before else request) == odd | {"long": LONG}


def with_surrogates(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


LEAVES = st.none() | st.integers(0, 9) | st.text(max_size=6) | st.just(',{"role":') | st.just(LONG)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner))
TURNS = st.lists(st.fixed_dictionaries({"role": st.sampled_from(["user", "x"]), "content": VALUES}), max_size=6)


@given(st.lists(st.tuples(TURNS, st.integers(0, 6)), min_size=1, max_size=5), st.randoms())
def test_reading_with_memory_equals_reading_without(steps: list[tuple[list[Any], int]], chance: random.Random) -> None:
    read = reader(max_remembered_bytes=300_000)
    said: list[Any] = []
    for new, kept in steps:
        said = said[:kept] + new
        sent = body(*said, number=len(said))
        assert whole(read.read(chance.choice("ab"), sent, MESSAGES)) == orjson.loads(sent)
