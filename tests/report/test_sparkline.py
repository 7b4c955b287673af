from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from report.sparkline import BINS, draw_bars, log_bins


@given(st.lists(st.integers(0, 10**12), max_size=200))
def test_every_value_is_in_one_bin_or_a_zero(values: list[int]) -> None:
    bins = log_bins(values, 1e6)
    assert sum(bins["counts"]) + bins["zeros"] == len(values)
    assert len(bins["counts"]) == (BINS if any(values) else 0)
    if any(values):
        assert bins["counts"][0] > 0
        assert bins["from"] == min(value for value in values if value) / 1e6
        assert max(values) in (0, min(v for v in values if v)) or bins["counts"][-1] > 0


def test_bins_are_uniform_in_the_logarithm() -> None:
    within = [3 * 2**power for power in range(BINS)]  # between 2 ** n and 2 ** (n + 1), far from both
    bins = log_bins([2, *within, 2 ** (BINS + 1)])
    assert bins["counts"] == [2, *[1] * (BINS - 2), 2]
    assert (bins["from"], bins["to"]) == (2, 2 ** (BINS + 1))


def test_the_tallest_bin_is_full_few_is_the_lowest_bar_and_none_is_blank() -> None:
    assert draw_bars({"counts": [0, 1, 50, 100], "zeros": 0}) == " ▁▄█"
    assert draw_bars({"counts": [3, 3], "zeros": 4}) == "██  4 x 0"
    assert draw_bars(log_bins([])) == ""
    assert draw_bars(log_bins([0, 0])) == "2 x 0"
    assert draw_bars(log_bins([7])).rstrip() == "█"
