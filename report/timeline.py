"""What the page draws as a timeline: lanes, bars in them, edges between bars, and details a bar shows when pointed at.

Everything that needs thought is decided here; the page's script only draws. Columns instead of objects keep the file
small. Times are microseconds from the timeline's own zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from report.time_axis import shorten_idle

Tone = Literal["main", "child", "aside", "failed", "recorded", "warmup"]
Half = Literal["whole", "upper", "lower"]
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
    half: Half = "whole"


@dataclass(frozen=True, slots=True)
class Link:
    src: int  # bar
    dst: int  # bar
    kind: str
    anchor: str
    words: str
    evidence: str | None = None  # how it is known


Details = Mapping[str, tuple[Unit, Sequence[Any]]]  # name -> unit and a value a bar; all-null columns are left out


def draw(
    label: str, note: str, lanes: Sequence[Lane], bars: Sequence[Bar], details: Details, links: Iterable[Link] = ()
) -> dict[str, Any]:
    axis = shorten_idle([(bar.start_us, bar.end_us) for bar in bars])
    return {
        "label": label,
        "note": note,
        "lanes": [[lane.name, lane.depth] for lane in lanes],
        "bars": {
            "lane": [bar.lane for bar in bars],
            "half": [("whole", "upper", "lower").index(bar.half) for bar in bars],
            "tone": encode_words([bar.tone for bar in bars]),
            "start": [bar.start_us for bar in bars],
            "first": [bar.first_us for bar in bars],
            "end": [bar.end_us for bar in bars],
        },
        "details": [
            [name, unit, encode_words(values) if unit == "text" else list(values)]
            for name, (unit, values) in details.items()
            if any(value is not None for value in values)
        ],
        "links": _links(list(links)),
        "axis": [[time, round(position, 6)] for time, position in axis.anchors],
        "cuts": [[cut.start_us, cut.stop_us] for cut in axis.cuts],
    }


def encode_words(values: Sequence[str | None]) -> dict[str, Any]:
    """Repeated words as positions in a list; null stays null."""
    words = list(dict.fromkeys(value for value in values if value is not None))
    index = {word: number for number, word in enumerate(words)}
    return {"words": words, "at": [None if value is None else index[value] for value in values]}


def _links(links: Sequence[Link]) -> dict[str, Any]:
    return {
        "src": [link.src for link in links],
        "dst": [link.dst for link in links],
        "kind": encode_words([link.kind for link in links]),
        "start": [link.anchor == "start" for link in links],
        "words": encode_words([link.words for link in links]),
        "evidence": encode_words([link.evidence for link in links]),
    }
