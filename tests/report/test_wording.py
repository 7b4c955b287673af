from __future__ import annotations

import pytest

from report.wording import UNKNOWN, count, seconds, share


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0"),
        (2.5, "2.5"),
        (9_999, "9999"),
        (12_345, "12.3k"),
        (987_654, "988k"),
        (1_240_000, "1.24M"),
        (6.1e11, "610G"),
    ],
)
def test_counts_keep_three_digits(value: float, words: str) -> None:
    assert count(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0 s"),
        (0.123, "0.12 s"),
        (45.64, "45.6 s"),
        (99.99, "1 min 40 s"),
        (120, "2 min"),
        (11_525, "3 h 12 min"),
        (440_000, "5 d 2 h"),
    ],
)
def test_durations_use_two_units_at_most(value: float, words: str) -> None:
    assert seconds(value) == words


def test_unknown_is_a_dash_and_never_zero() -> None:
    assert count(None) == seconds(None) == share(None) == UNKNOWN
    assert share(0) == "0.0 %"
