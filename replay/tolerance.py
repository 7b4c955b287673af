"""When so much fails that going on would measure nothing: a share of the requests of warm-up, or of profiling.

A few failures never stop a run, however large their share: one prompt that is too long for the server, or one reset
connection among the first requests, says nothing about the rest.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from corpus.run import ErrorClass, Phase

LEAST_FAILURES: Final = 10


class Tolerance:
    """`share`: of the requests that ended in a phase, those that may have failed; 1 tolerates everything."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._ended: Counter[Phase] = Counter()
        self._failed: Counter[tuple[Phase, ErrorClass]] = Counter()

    def count(self, phase: Phase, error: ErrorClass | None, requests: int = 1) -> None:
        self._ended[phase] += requests
        if error is not None:
            self._failed[phase, error] += requests

    def verdict(self, phase: Phase) -> str | None:
        """Why the run should stop; None: go on."""
        failed = {error: count for (of, error), count in sorted(self._failed.items()) if of == phase}
        total, ended = sum(failed.values()), self._ended[phase]
        if total < LEAST_FAILURES or total <= self._share * ended:
            return None
        classes = ", ".join(f"{count} {error}" for error, count in failed.items())
        name = "warm-up" if phase == "warmup" else "profiling"
        return f"{total} of {ended} {name} requests failed ({classes}), more than {self._share:.0%}"
