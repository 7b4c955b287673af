"""Is a run steady or drifting? Charts on the run's clock, warm-up and profiling apart, then what the server told.

A request's answer tokens count evenly between its first and last one; its prompt counts when the first token came. The
rolling line is of the last fifty profiled requests; p90 is the slow tail, so of a speed the value that 90 % exceed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from corpus.run import SentRequest
from corpus.server_metrics import ServerSample
from report.chart import Axis, Chart, Guide, Series, Unit, draw_chart
from report.in_flight import requests_in_flight, tokens_in_flight
from report.server_view import draw_server

_WINDOW: Final = 50
_PLACES: Final = 1000  # at which the rolling line is drawn; dots are all drawn
_BINS: Final = 100
_TIME: Final = Axis("time since the start of the run", "us")

Point = tuple[SentRequest, float]


def draw_over_time(rows: Sequence[SentRequest], samples: Sequence[ServerSample] = ()) -> list[dict[str, Any]]:
    """Nothing without a request that was sent; `samples` are what the server told."""
    sent = sorted((row for row in rows if row.sent_us is not None), key=lambda row: row.sent_us or 0)
    if not sent:
        return []
    first = [(row, row.first_token_us - (row.sent_us or 0)) for row in sent if row.first_token_us is not None]
    speed = [(row, value) for row in sent if (value := _interactivity(row)) is not None]
    starts = _profiling_starts(sent)
    charts = (
        _scattered(
            "How long until the first token?", "Lower is better.", ("time to first token", "us"), first, sent, 90
        ),
        _scattered("How fast do answers come?", "Higher is better.", ("answer tokens/s", "tps"), speed, sent, 10),
        requests_in_flight(sent, starts),
        tokens_in_flight(sent, starts),
        _rate("How many prompt tokens a second?", "first", [_prompt(row) for row in sent], starts),
        _rate("How many answer tokens a second?", "output", [_answer(row) for row in sent], starts),
    )
    return [*(draw_chart(chart) for chart in charts), *draw_server(samples, starts)]


def _interactivity(row: SentRequest) -> float | None:
    """Tokens a second after the first one; None for answers of one token or without measured ends."""
    if row.first_token_us is None or row.last_token_us is None or (row.measured_output_tokens or 0) < 2:
        return None
    took = row.last_token_us - row.first_token_us
    return ((row.measured_output_tokens or 0) - 1) / took * 1e6 if took > 0 else None


def _scattered(
    title: str, better: str, axis: tuple[str, Unit], points: Sequence[Point], sent: Sequence[SentRequest], percent: int
) -> Chart:
    profiled = [point for point in points if point[0].phase == "profile"]
    warmup = [point for point in points if point[0].phase == "warmup"]
    rolled = _rolling(profiled, percent)
    series = [
        Series("warm-up", "warmup", "dots", *_columns(warmup)),
        Series("profiling", "first", "dots", *_columns(profiled)),
        Series(f"rolling p90 of {_WINDOW}", "second", "line", *rolled),
    ]
    missing = len(sent) - len(points)
    return Chart(
        title,
        better,
        _TIME,
        Axis(*axis, log=True),
        [given for given in series if given.x],
        notes=[f"{len(points):,} requests" + (f"; {missing:,} more have no such time" if missing else "")],
        linked=True,
    )


def _rolling(points: Sequence[Point], percent: int) -> tuple[list[int], list[float]]:
    values = np.array([value for _, value in points], dtype=np.float64)
    places = range(0, len(points), max(1, len(points) // _PLACES))
    found = [_short(float(np.percentile(values[max(0, at + 1 - _WINDOW) : at + 1], percent))) for at in places]
    return [points[at][0].sent_us or 0 for at in places], found


def _columns(points: Sequence[Point]) -> tuple[list[int], list[float]]:
    return [row.sent_us or 0 for row, _ in points], [_short(value) for _, value in points]


Flow = tuple[float, float, float]  # from, to, tokens


def _prompt(row: SentRequest) -> Flow | None:
    tokens = row.planned_input_tokens if row.measured_input_tokens is None else row.measured_input_tokens
    return None if row.first_token_us is None else (row.first_token_us, row.first_token_us, tokens)


def _answer(row: SentRequest) -> Flow | None:
    if row.first_token_us is None or row.last_token_us is None or row.measured_output_tokens is None:
        return None
    return row.first_token_us, row.last_token_us, row.measured_output_tokens


def _rate(title: str, paint: Any, flows: Sequence[Flow | None], starts: Sequence[Guide]) -> Chart:
    known = np.array([flow for flow in flows if flow is not None], dtype=np.float64).reshape(-1, 3)
    missing = len(flows) - len(known)
    edges, rates = _spread_out(known)
    return Chart(
        title,
        "Higher is better.",
        _TIME,
        Axis("tokens/s", "tps"),
        [Series("tokens/s", paint, "bars", edges, rates)],
        starts,
        [f"{len(known):,} requests" + (f"; {missing:,} more without tokens or their times" if missing else "")],
        linked=True,
    )


def _spread_out(flows: NDArray[np.float64]) -> tuple[list[float], list[float]]:
    """Tokens a second in equal stretches of time; what flows over several is divided among them evenly."""
    if not len(flows):
        return [], []
    start, stop, tokens = flows.T
    edges = np.linspace(0, max(stop.max(), 1) * (1 + 1e-9), _BINS + 1)
    took = np.maximum(stop - start, 1e-3)
    done = [float((np.clip((edge - start) / took, 0, 1) * tokens).sum()) for edge in edges]
    return [_short(edge) for edge in edges.tolist()], [_short(v) for v in (np.diff(done) / (edges[1] / 1e6)).tolist()]


def _profiling_starts(sent: Sequence[SentRequest]) -> list[Guide]:
    """Where warm-up ends, if there was one."""
    profiled = [row.sent_us for row in sent if row.phase == "profile" and row.sent_us is not None]
    return [Guide(profiled[0], "profiling starts")] if profiled and len(profiled) < len(sent) else []


def _short(value: float) -> float:
    return float(f"{value:.6g}")
