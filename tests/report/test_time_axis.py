from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from report.time_axis import shorten_idle

S = 1_000_000
SPANS = st.lists(st.tuples(st.integers(0, 10**9), st.none() | st.integers(0, 10**9)), min_size=1, max_size=12)


def test_work_without_pauses_is_drawn_to_scale() -> None:
    axis = shorten_idle([(0, 4 * S), (4 * S, 10 * S)])
    assert axis.cuts == ()
    assert axis.position(5 * S) == 0.5


def test_long_pause_is_shortened_and_counted() -> None:
    axis = shorten_idle([(0, 50 * S), (3600 * S, 3650 * S)])
    assert axis.position(50 * S) == 50 / 102
    assert axis.hidden_us == (3550 - 2) * S
    assert [cut.start_us for cut in axis.cuts] == [50 * S]


def test_a_single_moment_has_an_axis() -> None:
    axis = shorten_idle([(7, None)])
    assert axis.position(7) == 0
    assert list(axis.columns(7, None, 40)) == [0]


@given(spans=SPANS, width=st.integers(1, 120))
def test_positions_rise_with_time_and_every_span_is_visible(spans: list[tuple[int, int | None]], width: int) -> None:
    axis = shorten_idle(spans)
    times = sorted({time for span in spans for time in span if time is not None})
    positions = [axis.position(time) for time in times]
    assert positions == sorted(positions)
    assert all(0 <= position <= 1 for position in positions)
    for start, stop in spans:
        columns = axis.columns(start, stop, width)
        assert len(columns) >= 1
        assert columns[-1] < width
