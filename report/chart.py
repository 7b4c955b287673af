"""What the page draws as a chart: series of numbers on two axes, guides across, and what the reader should ask of it.

A title says the question, `better` which way is good, and `notes` what was left out of the drawing and how often.
Columns instead of objects keep the file small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Unit = Literal["number", "tokens", "us", "share", "tps"]
# bars: x has one edge more than y has heights; steps: y holds until the next x
Shape = Literal["bars", "outline", "dots", "line", "steps", "marks"]
Paint = Literal["first", "second", "warmup", "cached", "fresh", "output", "quiet", "failed"]


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
    words: Sequence[str] = ()  # "marks" only: what stands beside each
    links: Sequence[str] = ()  # "marks" only: where each leads to inside the page


@dataclass(frozen=True, slots=True)
class Guide:
    at: float  # on x
    words: str


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    better: str  # "" when neither way is
    x: Axis
    y: Axis
    series: Sequence[Series]
    guides: Sequence[Guide] = ()
    notes: Sequence[str] = ()


def draw_chart(chart: Chart) -> dict[str, Any]:
    return {
        "title": chart.title,
        "better": chart.better,
        "x": [chart.x.title, chart.x.unit, chart.x.log],
        "y": [chart.y.title, chart.y.unit, chart.y.log],
        "series": [_draw_series(series) for series in chart.series],
        "guides": [[guide.at, guide.words] for guide in chart.guides],
        "notes": list(chart.notes),
    }


def _draw_series(series: Series) -> dict[str, Any]:
    drawn: dict[str, Any] = {
        "name": series.name,
        "paint": series.paint,
        "shape": series.shape,
        "x": list(series.x),
        "y": list(series.y),
    }
    if series.words:
        drawn["words"] = list(series.words)
    if series.links:
        drawn["links"] = list(series.links)
    return drawn
