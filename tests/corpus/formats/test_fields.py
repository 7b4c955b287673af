from __future__ import annotations

from typing import Any

import pytest

from corpus.errors import InputError
from corpus.formats.fields import (
    Field,
    check_object,
    is_count,
    is_flag,
    is_ids,
    is_milliseconds,
    is_number,
    is_seconds,
    is_texts,
)

FIELDS = {"n": Field(is_count, required=True), "ids": Field(is_ids), "t": Field(is_seconds, null=True)}


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (is_count, [0, 2**63 - 1], [-1, 2**63, 1.0, True, "1", None]),
        (is_number, [-5, 0], [2**63, 0.5, False]),
        (is_seconds, [0, 1.5], [-0.1, float("nan"), float("inf"), 1e12, "0", True]),
        (is_milliseconds, [0, 1.5, 1e12], [-1, float("nan"), float("inf"), 1e15, None, False]),
        (is_flag, [True, False], [0, None]),
        (is_texts, [[], ["a"]], ["a", [1], None]),
        (is_ids, [[], [0, 5]], [[-1], [True], [1.0], 3]),
    ],
)
def test_each_check_tells_good_from_bad(check: Any, good: list[Any], bad: list[Any]) -> None:
    assert [check(value) for value in good] == [None] * len(good)
    assert all(check(value) is not None for value in bad)


def test_unknown_keys_are_kept_unless_a_format_refuses_them() -> None:
    found = {"n": 1, "more": "x"}
    assert check_object(found, FIELDS, "f") is found
    with pytest.raises(InputError, match=r"f: more: is not a WEKA key; known are n, ids, t; remove it"):
        check_object(found, FIELDS, "f", kind="WEKA")


@pytest.mark.parametrize(
    ("found", "complaint"),
    [
        ([], "f: must be an object, is a list"),
        ({}, "f: n: is missing"),
        ({"n": 1, "ids": [1, "2"]}, r"f: ids\[1\]: must be a whole number"),
        ({"n": None}, "f: n: must be a whole number from 0, is null"),
    ],
)
def test_first_flaw_is_named_with_its_place(found: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        check_object(found, FIELDS, "f")


def test_null_is_taken_where_the_table_allows_it() -> None:
    assert check_object({"n": 1, "t": None}, FIELDS, "f") == {"n": 1, "t": None}
