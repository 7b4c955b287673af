from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.errors import WireError
from wire.jsonbody import boolean, count, members, objects, parse_json, parse_object, string, write_json

scalars = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text()
documents = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(documents)
def test_written_json_is_compact_and_reads_back_equal(value: Any) -> None:
    text = write_json(value)
    assert parse_json(text.encode()) == value
    assert text == json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def test_lone_surrogates_from_javascript_clients_survive_both_ways() -> None:
    value = parse_object(b'{"text":"cut \\ud83d","n":1}')
    assert value == {"text": "cut \ud83d", "n": 1}
    assert write_json(value) == '{"text":"cut \ud83d","n":1}'


def test_byte_order_mark_is_allowed() -> None:
    assert parse_object(b'\xef\xbb\xbf{"a":1}') == {"a": 1}


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"<html>", b'{"a":NaN}', b'{"a":"\xff"}', b"[" * 100_000, b"null", b"[]", b'"text"'],
    ids=["empty", "cut", "html", "nan", "not-utf8", "deep", "null", "list", "string"],
)
def test_anything_but_a_json_object_is_an_error(body: bytes) -> None:
    with pytest.raises(WireError):
        parse_object(body)


def test_deep_json_is_written_or_refused_as_a_wire_error() -> None:
    value: Any = []
    for _ in range(300):  # deeper than orjson writes
        value = [value]
    assert write_json(value) == "[" * 301 + "]" * 301
    for _ in range(100_000):
        value = [value]
    with pytest.raises(WireError):
        write_json(value)


@pytest.mark.parametrize("value", [True, False, -1, 1.0, "1", None, [], {}])
def test_only_integers_from_zero_count(value: object) -> None:
    assert count(value) is None
    assert count(0) == 0


def test_typed_reads_give_none_or_nothing_for_other_types() -> None:
    assert (string("x"), string(1)) == ("x", None)
    assert (boolean(False), boolean(0)) == (False, None)
    assert objects([{"a": 1}, 2, None]) == [{"a": 1}]
    assert objects("text") == []


def test_members_insists_on_objects_and_names_what_was_asked_for() -> None:
    assert members(None, "tools") == []
    assert members([{}], "tools") == [{}]
    with pytest.raises(WireError, match="tools"):
        members([{}, 1], "tools")
