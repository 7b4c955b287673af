from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.histogram import histogram, in_words


@given(st.lists(st.integers(0, 10**9), max_size=200))
def test_every_value_is_in_a_bin_or_counted_as_zero(values: list[int]) -> None:
    chart = histogram("q", "x", "tokens", values)
    zero = values.count(0)
    assert sum(chart.series[0].y) == len(values) - zero
    assert (f"of them {zero:,} zero" in chart.notes[0]) == (zero > 0)
    assert len(chart.series[0].x) == len(chart.series[0].y) + 1


@given(st.lists(st.integers(1, 50), min_size=1, max_size=200))
def test_no_bin_of_whole_numbers_lies_between_two_of_them(values: list[int]) -> None:
    edges = histogram("q", "x", "number", values).series[0].x
    assert all(edge % 1 == 0.5 for edge in edges)


def test_two_samples_share_bins_and_are_shares_of_their_own_size() -> None:
    chart = histogram("q", "x", "tokens", [1, 2, 1000], names=("a", "b"), other=[0, 7])
    first, second = chart.series
    assert first.x == second.x
    assert sum(first.y) == pytest.approx(1, abs=1e-5)
    assert sum(second.y) == pytest.approx(0.5)  # the zero belongs to the sample and to no bin
    assert chart.notes == ["a: 3 values", "b: 2 values, of them 1 zero, not on the axis"]


def test_guides_are_percentiles_of_all_values_and_equal_ones_share_a_line() -> None:
    guides = histogram("q", "x", "tokens", [0, 5, 5, 5, 5]).guides
    assert [(guide.at, guide.words) for guide in guides] == [(5, "p50-p99 5")]


def test_shares_keep_their_zeros_on_a_linear_axis() -> None:
    chart = histogram("q", "x", "share", [0, 0.5, 1])
    assert not chart.x.log
    assert sum(chart.series[0].y) == 3
    assert chart.notes == ["3 values"]


def test_nothing_gives_an_empty_chart() -> None:
    chart = histogram("q", "x", "us", [])
    assert (sum(chart.series[0].y), chart.guides, chart.notes) == (0, [], ["0 values"])


def test_short_times_are_written_in_milliseconds() -> None:
    assert [in_words(value, "us") for value in (1500, 2_000_000)] == ["1.5 ms", "2.00 s"]
