"""What the page draws as timelines: lanes, bars in them, edges between bars, and details a bar shows when pointed at.

Everything that needs thought is decided here; the page's script only draws. All bars of an input lie in one sheet of
columns, and a view is a stretch of its rows, so a bar that is seen in two views is kept once. Times are microseconds
on the input's own clock; a view says from where it counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any, Final, Literal

from report.packing import Column
from report.time_axis import TimeAxis, shorten_idle

Tone = Literal["main", "child", "aside", "failed", "warmup"]
Unit = Literal["text", "number", "tokens", "bytes", "us", "ms"]


@dataclass(frozen=True, slots=True)
class Lane:
    name: str
    depth: int


@dataclass(frozen=True, slots=True)
class Bar:
    lane: int
    tone: Tone
    start_us: int
    first_us: int | None  # first token: what comes before is drawn lighter
    end_us: int | None
    due_us: int | None = None  # what lies before the start since then is drawn as a line
    recorded_us: tuple[int, int | None] | None = None  # start and end, drawn above the bar


@dataclass(frozen=True, slots=True)
class Link:
    src: int  # bar of the drawing
    dst: int  # bar of the drawing
    kind: str
    anchor: str
    delay_us: int | None
    evidence: str | None = None  # how it is known


@dataclass(frozen=True, slots=True)
class Drawing:
    """`zero_us` is where its clock begins, for bars and for what was recorded."""

    label: str
    note: str
    lanes: Sequence[Lane]
    bars: Sequence[Bar]
    links: Sequence[Link] = ()
    zero_us: tuple[int, int] = (0, 0)
    more: Mapping[str, Any] = field(default_factory=dict)  # goes into the view as it is


@dataclass(frozen=True, slots=True)
class Way:
    """How all bars of all drawings are laid out at once; `lane` has a value a bar."""

    name: str
    lanes: Sequence[Lane]
    lane: Sequence[int]


_MANY: Final = 20_000  # bars; then times are drawn, and written in a bar's details, to
_COARSE_US: Final = 100

Details = Mapping[str, tuple[Unit, Sequence[Any]]]  # name -> unit and a value a bar; all-null columns are left out


def draw(
    drawings: Sequence[Drawing], details: Details, overview: tuple[str, str, Sequence[Way]] | None = None
) -> dict[str, Any]:
    """`sheet` and `views`; an overview (label, note, ways) is the first view."""
    firsts = [0, *accumulate(len(drawing.bars) for drawing in drawings)]
    links = [0, *accumulate(len(drawing.links) for drawing in drawings)]
    bars = [bar for drawing in drawings for bar in drawing.bars]
    stretches = zip(drawings, pairwise(firsts), pairwise(links), strict=True)
    views = [_view(drawing, rows, edges) for drawing, rows, edges in stretches]
    if overview is not None:
        views.insert(0, _overview(overview, bars))
    return {
        "sheet": {
            "bars": _bars(bars),
            "details": [
                [name, unit, encode_words(values) if unit == "text" else Column(values)]
                for name, (unit, values) in details.items()
                if any(value is not None for value in values)
            ],
            "links": _links(
                [(first, link) for first, of in zip(firsts, drawings, strict=False) for link in of.links], bars
            ),
        },
        "views": views,
    }


def encode_words(values: Sequence[str | None]) -> dict[str, Any]:
    """Repeated words as positions in a list; null stays null."""
    words = list(dict.fromkeys(value for value in values if value is not None))
    index = {word: number for number, word in enumerate(words)}
    return {"words": words, "at": Column([None if value is None else index[value] for value in values])}


def _view(drawing: Drawing, rows: tuple[int, int], links: tuple[int, int]) -> dict[str, Any]:
    zero, recorded_zero = drawing.zero_us
    spans = [(bar.start_us - zero, None if bar.end_us is None else bar.end_us - zero) for bar in drawing.bars]
    for bar in drawing.bars:
        if bar.recorded_us is not None:
            start, end = bar.recorded_us
            spans.append((start - recorded_zero, None if end is None else end - recorded_zero))
    return {
        "label": drawing.label,
        "note": drawing.note,
        "lanes": [[lane.name, lane.depth] for lane in drawing.lanes],
        "rows": list(rows),
        "links": list(links),
        "zero": [zero, recorded_zero],
        **_axis(shorten_idle(spans)),
        **drawing.more,
    }


def _overview(overview: tuple[str, str, Sequence[Way]], bars: Sequence[Bar]) -> dict[str, Any]:
    label, note, ways = overview
    return {
        "label": label,
        "note": note,
        "ways": [[way.name, [[lane.name, lane.depth] for lane in way.lanes], Column(way.lane)] for way in ways],
        "rows": [0, len(bars)],
        "links": [0, 0],
        "zero": [0, 0],
        **_axis(shorten_idle([(bar.start_us, bar.end_us) for bar in bars])),
    }


def _axis(axis: TimeAxis) -> dict[str, Any]:
    """From where to where, how wide a shortened stretch is drawn, and which ones are."""
    return {
        "axis": [axis.anchors[0][0], axis.anchors[-1][0], axis.cuts[0].drawn_us if axis.cuts else 0],
        "cuts": [[cut.start_us, cut.stop_us] for cut in axis.cuts],
    }


def _bars(bars: Sequence[Bar]) -> dict[str, Any]:
    """Moments as distances from the start of their bar: they are small, and most repeat."""
    step = _COARSE_US if len(bars) > _MANY else 1
    drawn = {
        "lane": Column([bar.lane for bar in bars]),
        "tone": encode_words([bar.tone for bar in bars]),
        "start": Column([bar.start_us for bar in bars], step),
        "first": Column([_between(bar.start_us, bar.first_us) for bar in bars], step),
        "end": Column([_between(bar.start_us, bar.end_us) for bar in bars], step),
    }
    if any(bar.due_us is not None for bar in bars):
        drawn["late"] = Column([_between(bar.due_us, bar.start_us) for bar in bars])
    recorded = [bar.recorded_us or (None, None) for bar in bars]
    if any(start is not None for start, _ in recorded):
        drawn["recorded"] = Column([start for start, _ in recorded], step)
        drawn["recorded_end"] = Column([_between(start, end) for start, end in recorded], step)
    return drawn


def _between(start_us: int | None, end_us: int | None) -> int | None:
    return None if start_us is None or end_us is None else end_us - start_us


def _links(links: Sequence[tuple[int, Link]], bars: Sequence[Bar]) -> dict[str, Any]:
    """Bars as rows of the sheet; `back` is how many rows before `dst` the source lies."""
    return {
        "dst": Column([first + link.dst for first, link in links]),
        "back": Column([link.dst - link.src for _, link in links]),
        "kind": encode_words([link.kind for _, link in links]),
        "start": Column([int(link.anchor == "start") for _, link in links]),
        "delay": Column([_shorter_by(link, bars[first + link.src], bars[first + link.dst]) for first, link in links]),
        "evidence": encode_words([link.evidence for _, link in links]),
    }


def _shorter_by(link: Link, src: Bar, dst: Bar) -> int | None:
    """How much less the delay is than what was recorded, mostly nothing; the delay from zero when no end is known."""
    if link.delay_us is None:
        return None
    start, _ = dst.recorded_us or (dst.start_us, None)
    src_start, src_end = src.recorded_us or (src.start_us, src.end_us)
    since = src_start if link.anchor == "start" else src_end
    return (0 if since is None else start - since) - link.delay_us
