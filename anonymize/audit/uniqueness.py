"""T10: how recognisable the sessions of a corpus are by what they cannot hide, their lengths.

Who knows a session's prompt lengths, from a bill or a log of one's own, can look for them. The measure: of all runs of
k consecutive differences between the prompt lengths of one agent, the share that occurs in one session only, with
lengths taken exactly and in coarser steps. It is a report: removing it would remove the shape of the work.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from corpus.session import Session

STEPS: Final = (1, 16, 64, 256, 1024)  # tokens
RUNS: Final = (1, 2, 3, 5)  # differences in a row

type _Run = tuple[int, ...]


@dataclass(slots=True)
class Uniqueness:
    """Sessions are added one by one; `share` may be asked at any time."""

    sessions: int = 0
    requests: int = 0
    _owners: dict[tuple[int, int], dict[_Run, int]] = field(default_factory=lambda: defaultdict(dict))
    _counts: dict[tuple[int, int], dict[_Run, int]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, session: Session) -> None:
        lengths: dict[int, list[int]] = defaultdict(list)
        for request in session.requests:
            lengths[request.agent].append(request.input_tokens)
        for step in STEPS:
            for line in lengths.values():
                self._add_line([tokens // step for tokens in line], step)
        self.sessions += 1
        self.requests += len(session.requests)

    def share(self, step: int, run: int) -> float | None:
        """Of all runs of this many differences, those that occur in one session only; None when there is none."""
        owners, counts = self._owners[step, run], self._counts[step, run]
        total = sum(counts.values())
        unique = sum(count for one, count in counts.items() if owners[one] >= 0)
        return unique / total if total else None

    def _add_line(self, lengths: list[int], step: int) -> None:
        deltas = [after - before for before, after in pairwise(lengths)]
        for run in RUNS:
            owners, counts = self._owners[step, run], self._counts[step, run]
            for start in range(len(deltas) - run + 1):
                one = tuple(deltas[start : start + run])
                if owners.setdefault(one, self.sessions) != self.sessions:
                    owners[one] = -1
                counts[one] = counts.get(one, 0) + 1


def measure(sessions: Iterable[Session]) -> Uniqueness:
    made = Uniqueness()
    for session in sessions:
        made.add(session)
    return made


def uniqueness_table(measured: Uniqueness) -> str:
    """As Markdown: a row per step, a column per length of the run, in percent."""
    head = "| lengths in steps of | " + " | ".join(f"{run} in a row" for run in RUNS) + " |"
    rows = [
        f"| {step} token{'s' * (step > 1)} | " + " | ".join(_percent(measured.share(step, run)) for run in RUNS) + " |"
        for step in STEPS
    ]
    return "\n".join([head, "|---" * (len(RUNS) + 1) + "|", *rows])


def uniqueness_summary(measured: Uniqueness) -> str:
    exact, blocks = (_percent(measured.share(step, 2)) for step in (1, 64))
    return (
        f"{measured.sessions} sessions, {measured.requests} requests: of two length differences in a row "
        f"{exact} are unique to a session, {blocks} in blocks of 64"
    )


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.1f} %"
