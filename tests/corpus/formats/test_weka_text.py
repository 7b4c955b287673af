from __future__ import annotations

import json
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.errors import InputError
from corpus.formats.files import parse
from corpus.formats.weka_text import parse_trace

Json = dict[str, Any]

LISTS = st.lists(st.integers(0, 2**63 - 1), max_size=4)


@st.composite
def entries(draw: st.DrawFn, *, nested: bool = True) -> list[Json]:
    """Requests whose lists mostly go on where an earlier one ended."""
    found: list[Json] = []
    before: list[list[int]] = [[]]
    for number in range(draw(st.integers(0, 6))):
        if nested and draw(st.integers(0, 3)) == 0:
            found.append({"t": number, "type": "subagent", "requests": draw(entries(nested=False))})
            continue
        ids = draw(st.sampled_from(before)) + draw(LISTS)
        before.append(ids)
        found.append(
            {"t": number, "hash_ids": ids} if draw(st.booleans()) else {"hash_ids": ids, "stop": 'a "hash_ids"'}
        )
    return found


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


@given(entries(), st.sampled_from([None, 1]), st.sampled_from([(",", ":"), (", ", ": "), (" ,", " :")]))
def test_a_trace_reads_as_with_the_plain_parser(
    requests: list[Json], indent: int | None, marks: tuple[str, str]
) -> None:
    text = json.dumps({"id": "x", "requests": requests}, indent=indent, separators=marks).encode()
    assert plain(parse_trace(text, "f")) == orjson.loads(text)


def test_lists_are_arrays_and_what_repeats_is_one() -> None:
    lists = [[1, 2], [7], [1, 2, 3], [1, 2, 3], [1, 23], []]
    found: Any = parse_trace(orjson.dumps({"requests": [{"hash_ids": ids} for ids in lists]}), "f")
    arrays = [one["hash_ids"] for one in found["requests"]]
    assert [list(ids) for ids in arrays] == lists
    assert {ids.dtype for ids in arrays[:-1]} == {np.dtype(np.int64)}
    assert arrays[2] is arrays[3]
    assert arrays[-1] == []


@pytest.mark.parametrize(
    "said",
    [
        "[1, -1]",
        "[1.0]",
        "[1, true]",
        "[1, null]",
        '["1"]',
        "[[1]]",
        "[9223372036854775808]",
        "[18446744073709551616]",
        "null",
        "5",
        "0",
        "{}",
    ],
)
@pytest.mark.parametrize("text", ['{"requests":[{"hash_ids":[1]},{"hash_ids":%s}]}', '{"requests":[{"hash_ids":%s}]}'])
def test_what_are_no_ids_is_left_for_the_check(text: str, said: str) -> None:
    asked = (text % said).encode()
    assert parse_trace(asked, "f") == orjson.loads(asked)


@pytest.mark.parametrize(
    "text",
    [
        '{"totals":{"hash_ids":[1]},"requests":[]}',
        '{"requests":[{"hash_ids":[1],"hash_ids":[2]}]}',
        '{"requests":[{"hash\\u005fids":0},{"stop":"","hash_ids":[3]}]}',
        '{"requests":[{"\\"hash_ids":[1]}]}',
        '{"requests":[{"stop":"\\"hash_ids\\": [1]","hash_ids":[2]}]}',
        '{"requests":{"hash_ids":[1]}}',
        '{"requests":[{"requests":[{"hash_ids":[1],"requests":[{"hash_ids":[2]}]}]}]}',
        '[{"hash_ids":[1]}]',
        '"hash_ids"',
        "null",
    ],
)
def test_a_key_in_another_place_reads_as_with_the_plain_parser(text: str) -> None:
    assert plain(parse_trace(text.encode(), "f")) == orjson.loads(text)


@pytest.mark.parametrize(
    "text",
    [b'{"requests":[{"hash_ids":[1,2', b'{"hash_ids":[1,]}', b'{"requests":[{"hash_ids":[01]}]}', b'{"a":1}}', b""],
)
def test_broken_json_is_told_in_the_plain_parsers_words(text: bytes) -> None:
    with pytest.raises(InputError) as expected:
        parse(text, "f")
    with pytest.raises(InputError) as told:
        parse_trace(text, "f")
    assert str(told.value) == str(expected.value)
