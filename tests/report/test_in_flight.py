from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.run import SentRequest
from report.in_flight import averaged, levels, requests_in_flight, tokens_in_flight

S = 1_000_000
Make = Callable[..., SentRequest]


def test_requests_in_flight_rise_and_fall(make_sent: Make) -> None:
    rows = [make_sent(sent_us=0, end_us=3 * S), make_sent(request=1, sent_us=S, end_us=2 * S), make_sent(end_us=None)]
    flight = requests_in_flight(rows, [])
    assert (flight.series[0].x, flight.series[0].y) == ([0, S, 2 * S, 3 * S], [1, 2, 1, 0])
    assert flight.notes == ["2 requests; 1 more without a measured end"]


def test_a_live_session_holds_what_it_sent_until_its_last_answer(make_sent: Make) -> None:
    rows = [
        make_sent(sent_us=0, end_us=S, predicted_cached_tokens=0),  # 640 tokens each
        make_sent(request=1, sent_us=2 * S, end_us=3 * S, predicted_cached_tokens=600),
        make_sent(play=1, sent_us=2 * S, end_us=4 * S, predicted_cached_tokens=0),
        make_sent(play=1, request=1, sent_us=2 * S, end_us=4 * S, predicted_cached_tokens=None),
    ]
    unique, together = tokens_in_flight(rows, []).series
    assert (unique.x, unique.y) == ([0, 2 * S, 3 * S, 4 * S], [640, 1320, 640, 0])
    assert (together.x, together.y) == ([0, S, 2 * S, 3 * S, 4 * S], [640, 0, 1920, 1280, 0])
    assert tokens_in_flight(rows, []).notes == ["3 requests; 1 more without a measured end or a prediction"]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 9))))
def test_levels_are_the_sum_of_what_holds(spans: list[tuple[int, int, int]]) -> None:
    ordered = [(min(a, b), max(a, b), amount) for a, b, amount in spans]
    for at, level in zip(*levels(ordered), strict=True):
        assert level == sum(amount for start, stop, amount in ordered if start <= at < stop)


def test_of_very_many_steps_stretches_of_time_have_an_average_and_extremes() -> None:
    at, level = list(range(0, 30_000, 3)), [n % 2 for n in range(10_000)]
    level[4321] = 99
    (edges, means), least, greatest = averaged(at, level)
    assert len(edges) == len(means) == len(least) == len(greatest) == 300
    assert max(greatest) == 99
    assert set(least) == {0}
    assert means[0] == pytest.approx(0.5, abs=0.05)


def test_few_steps_stay_as_they_are() -> None:
    assert averaged([0, 5], [1, 0]) == (([0, 5], [1, 0]), [1, 0], [1, 0])
