"""A time axis that gives work its room: stretches in which nothing ran are shortened, and it is known which.

Positions are numbers from 0 to 1. The same axis serves the terminal chart and, as `anchors`, the page.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

# An idle stretch is never drawn wider than this share of all the time in which something ran.
_IDLE_SHARE: Final = 0.02


@dataclass(frozen=True, slots=True)
class Cut:
    start_us: int
    stop_us: int
    drawn_us: float


@dataclass(frozen=True, slots=True)
class TimeAxis:
    anchors: tuple[tuple[int, float], ...]  # (time, position), both rising; straight lines between
    cuts: tuple[Cut, ...]
    end_us: int

    @property
    def hidden_us(self) -> float:
        return sum(cut.stop_us - cut.start_us - cut.drawn_us for cut in self.cuts)

    def position(self, time_us: float) -> float:
        """From 0 to 1; times outside the axis are put on its ends."""
        index = min(max(bisect_right(self.anchors, time_us, key=lambda anchor: anchor[0]), 1), len(self.anchors) - 1)
        (t0, x0), (t1, x1) = self.anchors[index - 1], self.anchors[index]
        return min(1.0, max(0.0, x0 + (time_us - t0) / (t1 - t0) * (x1 - x0)))

    def columns(self, start_us: int, stop_us: int | None, width: int) -> range:
        """The character columns of a span, at least one."""
        first = min(width - 1, int(self.position(start_us) * width))
        last = first if stop_us is None else min(width - 1, int(self.position(stop_us) * width))
        return range(first, max(first, last) + 1)


def shorten_idle(spans: Iterable[tuple[int, int | None]]) -> TimeAxis:
    """An axis over `(start, stop)` spans in microseconds; a span without a stop takes no time."""
    busy = _merge(spans)
    longest = max(1.0, _IDLE_SHARE * sum(stop - start for start, stop in busy))
    anchors: list[tuple[int, float]] = []
    cuts = []
    drawn = 0.0
    reached = busy[0][0] if busy else 0
    for start, stop in busy:
        idle = start - reached
        if idle > longest:
            cuts.append(Cut(reached, start, longest))
        drawn += min(idle, longest)
        anchors.append((start, drawn))
        drawn += stop - start
        anchors.append((stop, drawn))
        reached = stop
    return TimeAxis(_scaled(anchors, drawn), tuple(cuts), reached)


def _merge(spans: Iterable[tuple[int, int | None]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, stop in sorted((start, start if stop is None else max(start, stop)) for start, stop in spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged


def _scaled(anchors: list[tuple[int, float]], length: float) -> tuple[tuple[int, float], ...]:
    rising = [a for index, a in enumerate(anchors) if index == 0 or a[0] > anchors[index - 1][0]]
    if len(rising) < 2:
        at = rising[0][0] if rising else 0
        return ((at, 0.0), (at + 1, 1.0))
    return tuple((time, drawn / length) for time, drawn in rising)
