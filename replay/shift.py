"""One process's part of a run: some lanes from their first request to their last.

A run in one process is a single share. What it needs comes in one picklable `Share`, what it measured goes to a file of
rows (`corpus.row_log`), and the little that is left comes back as `Worked`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpus.row_log import RowLog
from corpus.run import ErrorClass, Phase
from corpus.session import Session
from replay.bodies import Bodies
from replay.commands import Done, ScheduleRules, Send
from replay.connection import Clock
from replay.content import Material
from replay.driver import Driver
from replay.endpoints import ENDPOINTS
from replay.framing import NO_FRAMING, Framing
from replay.heap import settled_heap
from replay.plan import SessionPlan, marker_blocks
from replay.progress import Brief, Tally, brief
from replay.rows import row_of
from replay.schedule import Scheduler
from replay.settings import ReplaySettings
from replay.transport import Outcome, Transport


@dataclass(frozen=True, slots=True)
class Share:
    sessions: Mapping[int, Session]
    plans: Sequence[SessionPlan]  # with something to send, the same in every share
    rules: ScheduleRules
    material: Material
    settings: ReplaySettings
    origin_ns: int  # of the clock that all shares of a run go by
    rows: Path
    framing: Framing = NO_FRAMING


@dataclass(frozen=True, slots=True)
class Worked:
    profile_start_us: int | None
    end_us: int | None
    completed_plays: frozenset[int]
    cpu_s: float
    resent: int  # requests that a stale connection had swallowed
    interrupted: bool
    done: Done | None


class Shift:
    """Made and run inside an event loop; `run` once."""

    def __init__(self, share: Share, on_stage: Callable[[str], None] = lambda _stage: None) -> None:
        settings, endpoint = share.settings, ENDPOINTS[share.settings.endpoint]
        clock = Clock(share.origin_ns)
        self._scheduler = Scheduler(share.plans, share.rules)
        self._transport = Transport(settings.url, endpoint, settings.headers, settings.request_timeout_s, clock)
        markers = marker_blocks(share.plans)
        bodies = Bodies(share.sessions, share.material, endpoint, settings, share.framing, markers)
        self.driver = Driver(self._scheduler, self._transport, bodies, clock, self._keep, on_stage)
        self._log = RowLog(share.rows)
        self._news: list[Brief] = []
        self._ended: Counter[tuple[Phase, ErrorClass | None]] = Counter()
        self._words: dict[ErrorClass, str] = {}  # of the first failure of each class
        self._told = 0  # of them
        self._resent = 0

    async def run(self) -> Worked:
        """OSError when the disk is full."""
        began_s = time.process_time()
        try:
            with settled_heap():
                async with self._transport:
                    await self.driver.run()
        finally:
            self._log.close()
        return Worked(
            profile_start_us=self._scheduler.profile_start_us,
            end_us=self.driver.end_us,
            completed_plays=frozenset(self._scheduler.completed_plays),
            cpu_s=time.process_time() - began_s,
            resent=self._resent,
            interrupted=self.driver.interrupted,
            done=self.driver.done,
        )

    def tally(self) -> Tally:
        """What is new since the last one."""
        rows, self._news = self._news, []
        ended, self._ended = self._ended, Counter()
        words, self._told = tuple(self._words.items())[self._told :], len(self._words)
        return Tally(
            ended=tuple((phase, error, count) for (phase, error), count in ended.items()),
            rows=tuple(rows),
            in_flight=self.driver.in_flight,
            sessions_completed=len(self._scheduler.completed_plays),
            profile_start_us=self._scheduler.profile_start_us,
            words=words,
        )

    def _keep(self, send: Send, outcome: Outcome) -> None:
        row = row_of(send, outcome)
        self._log.add(row)
        self._resent += outcome.resent
        if row.error == "cut":
            return
        self._news.append(brief(row))
        self._ended[row.phase, row.error] += 1
        if row.error is not None:
            self._words.setdefault(row.error, outcome.detail)
