"""Requests that wait for nothing but the clock, by due moment; ties by play, then by request."""

from __future__ import annotations

import heapq
from collections.abc import Callable

Entry = tuple[int, int, int]  # due, play, request


class DueQueue:
    def __init__(self) -> None:
        self._heap: list[Entry] = []

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def next_us(self) -> int | None:
        return self._heap[0][0] if self._heap else None

    def push(self, due_us: int, play: int, request: int) -> None:
        heapq.heappush(self._heap, (due_us, play, request))

    def pop(self, now_us: int) -> Entry | None:
        """The first entry that is due."""
        return heapq.heappop(self._heap) if self._heap and self._heap[0][0] <= now_us else None

    def first_of(self, play: int) -> int | None:
        """The earliest due moment of one play."""
        return min((due for due, of, _ in self._heap if of == play), default=None)

    def keep(self, wanted: Callable[[int, int], bool]) -> None:
        """Only what is wanted, by play and request."""
        self._heap = [entry for entry in self._heap if wanted(entry[1], entry[2])]
        heapq.heapify(self._heap)

    def move(self, play: int | None, due_us: Callable[[int, int], int]) -> None:
        """New due moments for the entries of a play, None: of all, by play and request."""
        self._heap = [(due_us(of, n), of, n) if play in (None, of) else (due, of, n) for due, of, n in self._heap]
        heapq.heapify(self._heap)

    def until(self, limit_us: int) -> list[Entry]:
        """Entries due by then, soonest first; takes time in their number, not in the queue's."""
        found, look = [], [0]
        while look:
            index = look.pop()
            if index < len(self._heap) and self._heap[index][0] <= limit_us:
                found.append(self._heap[index])
                look += (2 * index + 1, 2 * index + 2)
        return sorted(found)
