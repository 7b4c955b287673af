"""What is known to be missing, counted where it goes missing and taken by the scribe, which writes it down."""

from __future__ import annotations

import threading
from collections import Counter

from corpus.exchange import GapCause, GapRecord


class Gaps:
    """Any thread may `note`; `total` counts for ever, `take` what came since the last time."""

    def __init__(self) -> None:
        self._open: dict[GapCause, GapRecord] = {}
        self._lock = threading.Lock()
        self.total: Counter[str] = Counter()

    def note(self, cause: GapCause, t_us: int) -> None:
        with self._lock:
            self.total[cause] += 1
            self._merge(GapRecord(cause, t_us, t_us, 1))

    def take(self) -> list[GapRecord]:
        with self._lock:
            taken = list(self._open.values())
            self._open.clear()
            return taken

    def give_back(self, gaps: list[GapRecord]) -> None:
        """What could not be written down yet."""
        with self._lock:
            for gap in gaps:
                self._merge(gap)

    def _merge(self, new: GapRecord) -> None:
        old = self._open.get(new.cause, new)
        count = new.count if old is new else old.count + new.count
        start_us, end_us = min(old.t_start_us, new.t_start_us), max(old.t_end_us, new.t_end_us)
        self._open[new.cause] = GapRecord(new.cause, start_us, end_us, count)
