"""Which of several spans of time ran beside each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

WORKERS: Final = 3
"""From so many on, conversations that left the same request and ran beside each other are a group of workers."""


def overlapping[Item](spans: Iterable[tuple[float, float, Item]]) -> list[list[Item]]:
    """Items of (start, end, item), given by start, cut wherever nothing runs; touching is no overlap."""
    runs: list[list[Item]] = []
    reached = 0.0
    for start, end, item in spans:
        if runs and start < reached:
            runs[-1].append(item)
            reached = max(reached, end)
        else:
            runs.append([item])
            reached = end
    return runs
