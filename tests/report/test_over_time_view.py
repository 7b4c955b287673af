from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from corpus.run import SentRequest
from report.over_time_view import draw_over_time
from tests.report.listed import listed

S = 1_000_000
Make = Callable[..., SentRequest]


def _series(chart: dict[str, Any], name: str) -> dict[str, Any]:
    return next(series for series in chart["series"] if series["name"] == name)


def test_warmup_is_drawn_apart_and_not_in_the_rolling_line(make_sent: Make) -> None:
    rows = [
        make_sent(sent_us=0, first_token_us=9 * S, phase="warmup"),
        make_sent(request=1, sent_us=S, first_token_us=2 * S),
    ]
    ttft = listed(draw_over_time(rows))[0]
    assert (_series(ttft, "warm-up")["y"], _series(ttft, "profiling")["y"]) == ([9 * S], [S])
    assert _series(ttft, "rolling p90 of 50")["y"] == [S]
    assert listed(draw_over_time(rows))[2]["guides"] == [[S, "profiling starts", ""]]


def test_rolling_p90_is_the_slow_tail_of_the_last_fifty(make_sent: Make) -> None:
    rows = [
        make_sent(request=n, sent_us=n * S, first_token_us=n * S + (n + 1) * 1000, last_token_us=(n + 1) * S)
        for n in range(60)
    ]
    rolled = _series(listed(draw_over_time(rows))[0], "rolling p90 of 50")
    assert rolled["y"][-1] == pytest.approx(55_100)  # of 11 to 60 ms
    speed = _series(listed(draw_over_time(rows))[1], "profiling")
    assert len(speed["y"]) == 60


def test_interactivity_needs_two_tokens_and_says_who_has_none(make_sent: Make) -> None:
    rows = [
        make_sent(first_token_us=S, last_token_us=2 * S, measured_output_tokens=11),
        make_sent(measured_output_tokens=1),
    ]
    speed = listed(draw_over_time(rows))[1]
    assert _series(speed, "profiling")["y"] == [10]
    assert speed["notes"] == ["1 requests; 1 more have no such time"]


def test_every_token_is_in_the_rates(make_sent: Make) -> None:
    rows = [make_sent(request=n, first_token_us=n * S, last_token_us=(n + 2) * S) for n in range(5)]
    for chart, tokens in zip(listed(draw_over_time(rows))[4:], (5 * 640, 5 * 11), strict=True):
        series = chart["series"][0]
        assert sum(series["y"]) * series["x"][1] / 1e6 == pytest.approx(tokens, rel=1e-3)


def test_nothing_sent_is_nothing_drawn(make_sent: Make) -> None:
    assert listed(draw_over_time([make_sent(sent_us=None)])) == []
