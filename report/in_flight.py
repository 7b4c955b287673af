"""How much goes on at once, over a run's time: requests in flight, their prompts, and what live sessions hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from corpus.run import SentRequest
from report.chart import Axis, Chart, Guide, Series

_MANY: Final = 1000  # steps; beyond them averages are drawn
_STRETCHES: Final = 300
_TIME: Final = Axis("time since the start of the run", "us")

Steps = list[int] | list[float]


def requests_in_flight(sent: Sequence[SentRequest], starts: Sequence[Guide]) -> Chart:
    """`sent` are requests that were sent; those without a measured end are told and left out."""
    ended = [row for row in sent if row.end_us is not None]
    unended = len(sent) - len(ended)
    found = levels((row.sent_us or 0, row.end_us or 0, 1) for row in ended)
    average, least, greatest = averaged(*found)
    band = Series("least to greatest", "recorded", "bands", average[0], greatest, base=least)
    return Chart(
        "How many requests are in flight?",
        "",
        _TIME,
        Axis("requests in flight", "number"),
        [*([band] if average != found else []), Series("in flight", "first", "steps", *average)],
        starts,
        [f"{len(ended):,} requests" + (f"; {unended:,} more without a measured end" if unended else "")],
        linked=True,
    )


def tokens_in_flight(sent: Sequence[SentRequest], starts: Sequence[Guide]) -> Chart:
    """A session is live from its first request to its last measured end; what of a prompt repeats is predicted."""
    ended = [row for row in sent if row.end_us is not None]
    over: dict[int, int] = {}
    for row in ended:
        over[row.play] = max(over.get(row.play, 0), row.end_us or 0)
    told = [row for row in ended if row.predicted_cached_tokens is not None]
    unique = levels(
        (row.sent_us or 0, over[row.play], row.planned_input_tokens - (row.predicted_cached_tokens or 0))
        for row in told
    )
    all_of_them = levels((row.sent_us or 0, row.end_us or 0, row.planned_input_tokens) for row in ended)
    missing = len(sent) - len(told)
    return Chart(
        "How many unique tokens are in flight?",
        "What a cache must hold so that nothing is computed twice.",
        _TIME,
        Axis("prompt tokens", "tokens"),
        [
            Series("unique, of live sessions", "first", "steps", *averaged(*unique)[0]),
            Series("of prompts in flight, all counted", "quiet", "steps", *averaged(*all_of_them)[0]),
        ],
        starts,
        [f"{len(told):,} requests" + (f"; {missing:,} more without a measured end or a prediction" if missing else "")],
        linked=True,
    )


def levels(spans: Iterable[tuple[int, int, int]]) -> tuple[list[int], list[int]]:
    """Moments and the sum that holds from each on, of (from, until, amount); of very many, the extremes."""
    given = np.array(list(spans), dtype=np.int64).reshape(-1, 3)
    times, place = np.unique(given[:, :2].ravel(), return_inverse=True)
    changes = np.zeros(len(times), dtype=np.int64)
    np.add.at(changes, place, (given[:, 2:] * np.array([[1, -1]])).ravel())
    return times.tolist(), np.cumsum(changes).tolist()


def averaged(at: Steps, level: Steps) -> tuple[tuple[Steps, Steps], Steps, Steps]:
    """Of very many steps the average of each of equal stretches of time, the least and the greatest; few stay."""
    if len(at) <= _MANY:
        return (at, level), level, level
    edges = np.linspace(at[0], at[-1], _STRETCHES + 1).astype(np.int64)
    times, values = np.array(at, dtype=np.int64), np.array(level, dtype=np.float64)
    cut = np.unique(np.concatenate([times, edges]))
    held = values[np.searchsorted(times, cut, side="right") - 1]
    first = np.searchsorted(cut, edges[:-1])
    sums = np.add.reduceat((held[:-1] * np.diff(cut)), first)
    means = [round(mean, 2) for mean in (sums / np.diff(edges)).tolist()]
    least, greatest = (pick.reduceat(held[:-1], first).tolist() for pick in (np.minimum, np.maximum))
    return (edges[:-1].tolist(), means), least, greatest
