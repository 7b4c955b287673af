from __future__ import annotations

import base64
import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.packing import Column, Packer, encode_column

numbers = st.lists(st.none() | st.integers(-(2**51), 2**51))


def _decode(data: bytes) -> list[int | None]:
    """As the page's script does it, one value after another."""
    values: list[int | None] = []
    last = at = 0
    while at < len(data):
        code = shift = 0
        while True:
            byte = data[at]
            at += 1
            code |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        if code:
            zigzag = code - 1
            last += zigzag >> 1 if zigzag % 2 == 0 else -(zigzag + 1 >> 1)
        values.append(last if code else None)
    return values


@given(numbers)
def test_every_column_comes_back(values: list[int | None]) -> None:
    as_floats = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    assert _decode(encode_column(as_floats)) == values


def test_short_columns_stay_lists_and_equal_long_ones_are_kept_once() -> None:
    packer = Packer()
    long = list(range(100))
    document = [Column([1, None]), Column(long), Column(tuple(long)), Column([*long, None])]
    placed = json.loads(json.dumps(document, default=packer.place))
    assert placed == [[1, None], {"#": [0, 100, 1, 1]}, {"#": [0, 100, 1, 1]}, {"#": [100, 101, 1, 1]}]
    data = gzip.decompress(base64.b64decode(packer.packed()))
    assert _decode(data[100:]) == [*long, None]


def test_fractions_keep_six_digits_of_the_largest() -> None:
    packer = Packer()
    values = [n + 0.123456789 for n in range(100)]
    placed = packer.place(Column(values))
    divisor = placed["#"][3]
    found = _decode(gzip.decompress(base64.b64decode(packer.packed())))
    assert divisor == 10_000
    assert [value / divisor for value in found if value is not None] == pytest.approx(values, abs=1e-4)


def test_what_is_no_column_is_refused() -> None:
    with pytest.raises(TypeError, match="a set has no place"):
        json.dumps({1, 2}, default=Packer().place)


def test_a_step_rounds_to_multiples_of_it() -> None:
    packer = Packer()
    assert packer.place(Column([0, 149, 151, *range(100)], step=100)) == {"#": [0, 103, 100, 1]}
    assert _decode(gzip.decompress(base64.b64decode(packer.packed())))[:3] == [0, 1, 2]
