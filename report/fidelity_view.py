"""Did the replay send what was recorded, when it was due? Four charts, from a run's rows alone.

When a request was due follows again from what was measured, not from what the scheduler says. What was sent before that
moment, by more than the rounding of delays, breaks a dependency, and so does what waited for something never measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from corpus.run import SentRequest
from report.chart import Axis, Chart, Series, draw_chart
from report.histogram import histogram

_TOLERANCE_US: Final = 1_000  # moments are whole microseconds, delays are divided by the speed-up
_TIME: Final = Axis("time since the start of the run", "us")

Key = tuple[int, int]  # play, request


def draw_fidelity(rows: Sequence[SentRequest]) -> list[dict[str, Any]]:
    """Nothing without a request that was sent. Charts are of warm-up and profiling together, dots tell them apart."""
    ordered = sorted((row for row in rows if row.sent_us is not None), key=lambda row: row.sent_us or 0)
    sent = {(row.play, row.request): row for row in ordered}
    if not sent:
        return []
    charts = (_lateness(sent), _lateness_over_time(sent), _token_error(sent), _cache_hits(sent))
    return [draw_chart(chart) for chart in charts]


def _lateness(sent: Mapping[Key, SentRequest]) -> Chart:
    found = [late for row in sent.values() if (late := _late_us(row, sent)) is not None]
    return histogram(
        "How late were requests sent?",
        "sent minus due",
        "us",
        found,
        better="Lower is better.",
        notes=[f"{len(sent) - len(found):,} with an unmeasured predecessor"] if len(found) < len(sent) else [],
    )


def _lateness_over_time(sent: Mapping[Key, SentRequest]) -> Chart:
    late = [(row, _late_us(row, sent)) for row in sent.values()]
    kept = [(row, us) for row, us in late if us is not None and us >= -_TOLERANCE_US]
    early = [(row, us) for row, us in late if us is not None and us < -_TOLERANCE_US]
    orphans = sum(us is None for _, us in late)
    edges = sum(len(row.after) for row in sent.values())
    return Chart(
        "Was every dependency kept, and does the replay fall behind?",
        "Flat and low is better; none may be early.",
        _TIME,
        Axis("sent minus due", "us"),
        [*_dots(kept), Series("sent too early", "failed", "dots", *_columns(early))],
        notes=[f"{edges:,} dependencies; broken, must be 0: {len(early) + orphans:,} requests"],
        linked=True,
    )


def _token_error(sent: Mapping[Key, SentRequest]) -> Chart:
    told = [
        (row, row.measured_input_tokens - row.planned_input_tokens)
        for row in sent.values()
        if row.measured_input_tokens is not None
    ]
    wrong = sum(error != 0 for _, error in told)
    return Chart(
        "Did the server count the prompt tokens that were planned?",
        "Must be 0.",
        _TIME,
        Axis("counted minus planned", "tokens"),
        _dots(told),
        notes=[f"{wrong:,} of {len(told):,} differ; the server counted none for {len(sent) - len(told):,}"],
        linked=True,
    )


def _cache_hits(sent: Mapping[Key, SentRequest]) -> Chart:
    told = [r for r in sent.values() if r.cached_tokens is not None and r.predicted_cached_tokens is not None]
    told.sort(key=lambda r: (r.play, r.request))  # neighbours are alike, which packs well
    points = [(r, r.cached_tokens or 0, r.predicted_cached_tokens or 0) for r in told]
    most = max((max(hit, best) for _, hit, best in points), default=1)
    dots = [
        Series(series.name, series.paint, series.shape, [best for r, _, best in points if r.phase == phase], series.y)
        for phase, series in _by_phase([(r, hit) for r, hit, _ in points])
    ]
    below = sum(hit < best for _, hit, best in points)
    return Chart(
        "Did the cache serve what it could have?",
        "On the line is best.",
        Axis("predicted with an infinite cache", "tokens"),
        Axis("served from cache", "tokens"),
        [*dots, Series("as predicted", "quiet", "line", [0, most], [0, most])],
        notes=[f"{below:,} of {len(points):,} below the line; no count of either kind for {len(sent) - len(told):,}"],
    )


def _dots(values: Sequence[tuple[SentRequest, int]]) -> list[Series]:
    return [series for _, series in _by_phase(values)]


def _by_phase(values: Sequence[tuple[SentRequest, int]]) -> list[tuple[str, Series]]:
    """Warm-up and profiling apart; an empty one is left out."""
    found = (
        ("profile", Series("profiling", "first", "dots", *_columns([v for v in values if v[0].phase == "profile"]))),
        ("warmup", Series("warm-up", "warmup", "dots", *_columns([v for v in values if v[0].phase == "warmup"]))),
    )
    return [(phase, series) for phase, series in found if series.x]


def _columns(values: Sequence[tuple[SentRequest, int]]) -> tuple[list[int], list[int]]:
    return [row.sent_us or 0 for row, _ in values], [value for _, value in values]


def _late_us(row: SentRequest, sent: Mapping[Key, SentRequest]) -> int | None:
    """None when something it waited for has no measured end (or start)."""
    due = row.release_us + (row.root_offset_us or 0)
    for number, delay, anchor in zip(row.after, row.after_delay_us, row.after_anchor, strict=True):
        before = sent.get((row.play, number))
        moment = None if before is None else before.end_us if anchor == "end" else before.sent_us
        if moment is None:
            return None
        due = max(due, moment + delay)
    return (row.sent_us or 0) - due
