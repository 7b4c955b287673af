"""What the page draws as a chart: series of numbers on two axes, guides across, and what the reader should ask of it.

A title says the question, `better` which way is good, and `notes` what was left out of the drawing and how often.
Columns instead of objects keep the file small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from report.packing import Column

Unit = Literal["number", "tokens", "us", "share", "tps", "ratio"]
# bars: x has one edge more than y has heights; steps: y holds until the next x; bands: from `base` up to y;
# marks and rings: things to be told apart by name
Shape = Literal["bars", "outline", "dots", "line", "steps", "bands", "marks", "rings"]
Paint = Literal["first", "second", "warmup", "cached", "fresh", "output", "dram", "recorded", "quiet", "failed"]

_MANY: Final = 20_000  # points
_PLACES: Final = 100_000  # that are told apart on an axis of time with so many


@dataclass(frozen=True, slots=True)
class Axis:
    title: str
    unit: Unit
    log: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    paint: Paint
    shape: Shape
    x: Sequence[float]
    y: Sequence[float]
    words: Sequence[str] = ()  # of marks and rings: what each is
    links: Sequence[str] = ()  # of marks and rings: where each leads to inside the page
    base: Sequence[float] = ()  # of bands


@dataclass(frozen=True, slots=True)
class Guide:
    at: float  # on x
    words: str
    of: str = ""  # the name of what it belongs to, if that is not what is drawn: it can be left out then


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    better: str  # "" when neither way is
    x: Axis
    y: Axis
    series: Sequence[Series]
    guides: Sequence[Guide] = ()
    notes: Sequence[str] = ()
    linked: bool = False  # x, rising in every series, is the input's common time: cursors and zoom are shared


def draw_chart(chart: Chart) -> dict[str, Any]:
    return {
        "title": chart.title,
        "better": chart.better,
        "x": [chart.x.title, chart.x.unit, chart.x.log],
        "y": [chart.y.title, chart.y.unit, chart.y.log],
        "series": [_draw_series(series, _step(series) if chart.linked else 1) for series in chart.series],
        "guides": [[guide.at, guide.words, guide.of] for guide in chart.guides],
        "notes": list(chart.notes),
        "linked": chart.linked,
    }


def _step(series: Series) -> int:
    """Of many points on the axis of time, how far apart two must be to be told apart: far less than a pixel."""
    return max(1, int(series.x[-1] - series.x[0]) // _PLACES) if len(series.x) > _MANY else 1


def _draw_series(series: Series, step: int) -> dict[str, Any]:
    drawn: dict[str, Any] = {
        "name": series.name,
        "paint": series.paint,
        "shape": series.shape,
        "x": Column(series.x, step),
        "y": Column(series.y),
    }
    if series.words:
        drawn["words"] = list(series.words)
    if series.base:
        drawn["base"] = Column(series.base)
    if series.links:
        drawn["links"] = list(series.links)
    return drawn
