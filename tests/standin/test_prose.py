"""Filler text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standin.prose import file_name, log_lines, prose, records, source_code, title, token

_LONG = [prose, source_code, log_lines, records]


@pytest.mark.parametrize("make", _LONG)
def test_the_seed_decides(make: type) -> None:
    assert make(2000, "a", 1) == make(2000, "a", 1)
    assert make(2000, "a", 1) != make(2000, "a", 2)


@given(st.integers(1, 9000), st.integers())
def test_lengths_are_about_as_asked(chars: int, seed: int) -> None:
    for make in _LONG:
        assert 0.3 * chars - 10 <= len(make(chars, seed)) <= chars * 1.6 + 1000


def test_records_are_json_and_code_compiles() -> None:
    assert json.loads(records(3000, "x"))["total"] > 1
    compile(source_code(3000, "x"), "x", "exec")


def test_identifiers_have_the_length_asked() -> None:
    assert len(token(22, "x")) == 22
    assert title("x")
    assert file_name("x").endswith(".py")
