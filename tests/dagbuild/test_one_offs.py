from __future__ import annotations

import pytest

from dagbuild.one_offs import is_reduction, is_small


@pytest.mark.parametrize(
    ("tokens", "peak", "small"),
    [(16_383, 0, True), (16_384, 0, False), (39_999, 400_000, True), (40_000, 400_000, False)],
)
def test_small_is_below_a_floor_or_a_tenth_of_the_peak(tokens: int, peak: int, *, small: bool) -> None:
    assert is_small(tokens, peak) is small


@pytest.mark.parametrize(
    ("tokens", "out", "reduction"),
    [
        (80_001, 3999, True),
        (80_001, 4000, False),
        (20_000, 1000, False),  # exactly twenty times
        (20_001, 1000, True),
        (16_383, 10, False),
        (90_000, 0, False),
    ],
)
def test_reductions_make_little_of_much(tokens: int, out: int, *, reduction: bool) -> None:
    assert is_reduction(tokens, out) is reduction
