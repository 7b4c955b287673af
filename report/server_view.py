"""What the server told about itself during a run: its queue, its memory, its caches, and where prompt tokens came from.

Several sources (metrics URLs) are one server here: requests and rates are added up, shares of memory averaged. Between
two scrapes a gauge holds its value, and a counter grew evenly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from corpus.server_metrics import METRICS, ServerSample, rates
from report.chart import Axis, Chart, Guide, Paint, Series, Unit, draw_chart

Numbers = NDArray[np.float64]

_TIME: Final = Axis("time since the start of the run", "us")
# of prompt tokens, from the bottom up: metric, what it is called, paint
_SOURCES: Final[tuple[tuple[str, str, Paint], ...]] = (
    ("prompt_local_hit_tokens", "cache in GPU memory", "cached"),
    ("prompt_external_hit_tokens", "cache behind it", "dram"),
    ("prompt_computed_tokens", "computed", "fresh"),
)
_TIERS: Final[tuple[tuple[str, str, Paint], ...]] = (("hbm", "HBM", "cached"), ("dram", "DRAM and behind", "dram"))


def draw_server(samples: Sequence[ServerSample], starts: Sequence[Guide]) -> list[dict[str, Any]]:
    """Charts of what was told; nothing without samples. `starts`: where profiling begins."""
    told = _Told(samples)
    charts = (
        _levels(
            told,
            ("How long is the server's queue?", "Less waiting is better.", "requests", "number"),
            (("running", "running", "first"), ("waiting", "waiting", "second")),
        ),
        _levels(
            told,
            (
                "How full is the KV cache?",
                "Below 100 % is better: nothing is thrown out for want of room.",
                "used",
                "share",
            ),
            (("kv_used_share", "KV cache in use", "first"),),
        ),
        _hits(told),
        _prompt_sources(told),
        _levels(
            told,
            ("How many tokens a second does the server count?", "Higher is better.", "tokens/s", "tps"),
            (("prompt_tokens", "input", "first"), ("output_tokens", "decode", "output")),
        ),
    )
    return [draw_chart(_with_guides(chart, starts)) for chart in charts if chart.series]


class _Told:
    """Every metric on the common times of all scrapes."""

    def __init__(self, samples: Sequence[ServerSample]) -> None:
        self.at_us = np.unique(np.array([sample.at_us for sample in samples], dtype=np.int64))
        self._of: dict[str, dict[str, list[ServerSample]]] = {}
        for sample in samples:
            self._of.setdefault(sample.name, {}).setdefault(sample.source, []).append(sample)

    def values(self, name: str) -> Numbers | None:
        """What holds from each time on, of a counter its growth a second; None when no source tells it."""
        if name not in self._of:
            return None
        sources = [self._source(name, samples) for samples in self._of[name].values()]
        known = np.sum([~np.isnan(source) for source in sources], axis=0)
        total = np.nansum(sources, axis=0)
        if METRICS[name].unit == "share":
            total = total / np.maximum(known, 1)
        values: Numbers = np.where(known > 0, total, np.nan)
        return values

    def _source(self, name: str, samples: Sequence[ServerSample]) -> Numbers:
        if METRICS[name].kind == "counter":
            grown = rates(samples)
            times, values = [at for at, _ in grown], [rate for _, rate in grown]
            place = np.searchsorted(times, self.at_us, side="right")
            return np.append(values, np.nan)[place]
        times, values = [sample.at_us for sample in samples], [sample.value for sample in samples]
        place = np.searchsorted(times, self.at_us, side="right") - 1
        return np.where(place >= 0, np.array(values)[place], np.nan)


def _levels(told: _Told, words: tuple[str, str, str, Unit], wanted: Sequence[tuple[str, str, Paint]]) -> Chart:
    title, better, axis, unit = words
    found = [(name, paint, told.values(metric)) for metric, name, paint in wanted]
    series = [_steps(told, name, paint, values) for name, paint, values in found if values is not None]
    return Chart(title, better, _TIME, Axis(axis, unit), series, linked=True)


def _hits(told: _Told) -> Chart:
    """Of what was looked up in each cache; the one behind is asked only for what the first lacks."""
    series = []
    for tier, name, paint in _TIERS:
        asked, hit = told.values(f"{tier}_query_tokens"), told.values(f"{tier}_hit_tokens")
        if asked is not None and hit is not None and np.nanmax(asked, initial=0) > 0:
            share = np.divide(hit, asked, out=np.full_like(asked, np.nan), where=asked > 0)
            series.append(_steps(told, name, paint, share))
    return Chart(
        "How much of the prompts do the caches hold?",
        "Higher is better.",
        _TIME,
        Axis("tokens found of those looked up", "share"),
        series,
        notes=["between two scrapes; nothing where no token was looked up"],
        linked=True,
    )


def _prompt_sources(told: _Told) -> Chart:
    found = [(name, paint, values) for metric, name, paint in _SOURCES if (values := told.values(metric)) is not None]
    series = []
    base = np.zeros(len(told.at_us))
    for name, paint, values in found:
        top = base + np.nan_to_num(values)
        series.append(Series(name, paint, "bands", told.at_us.tolist(), _short(top), base=_short(base)))
        base = top
    title = "Where do prompt tokens come from?"
    return Chart(title, "Less computed is better.", _TIME, Axis("prompt tokens/s", "tps"), series, linked=True)


def _steps(told: _Told, name: str, paint: Paint, values: Numbers) -> Series:
    known = ~np.isnan(values)
    return Series(name, paint, "steps", told.at_us[known].tolist(), _short(values[known]))


def _short(values: Numbers) -> list[float]:
    return [float(f"{value:.5g}") for value in values.tolist()]


def _with_guides(chart: Chart, starts: Sequence[Guide]) -> Chart:
    return replace(chart, guides=starts)
