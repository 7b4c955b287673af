"""Who plays what: lanes that each hold one live session tree, or sessions that arrive when a clock of theirs says.

A lane takes the next play when its own is complete. Play numbers run on and never come again, and a play's number
decides which session it is and what opens its prompts (`replay.sampling`, `replay.content`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from replay.commands import ScheduleRules
from replay.method import METHODS, Split, split_at
from replay.plan import SessionPlan
from replay.play import Play
from replay.sampling import Sampler

_NOTHING: Final = Split((), frozenset())
AHEAD_US: Final = 5_000_000  # an arriving session is known so long before, so that its prompts can be built


class Lanes:
    def __init__(self, plans: Sequence[SessionPlan], rules: ScheduleRules) -> None:
        self._plans = plans
        self._rules = rules
        self._sampler = Sampler(rules.sampling, rules.seed, len(plans))
        self._next_play = rules.worker
        self.numbers = range(rules.worker, rules.lanes, rules.workers)
        self._endless = rules.warmup == "steady" or rules.repeats
        arrivals = sorted((at_us, index) for index, at_us in enumerate(rules.arrivals_us or ()))
        self._arrivals = arrivals[rules.worker :: rules.workers][::-1]
        self.live: dict[int, Play] = {}

    def take(self, lane: int, now_us: int) -> Play | None:
        """The next play, from its beginning; None when each session was played."""
        if self._next_play >= len(self._plans) and not self._endless:
            return None
        return self._begin(lane, now_us, self._next_plan(), frozenset(), 0)

    def take_midway(self, lane: int, now_us: int) -> tuple[Play, dict[int, int]]:
        """The next play from a point within it, and its primers with their leads: how long before the point they were.

        Leads are as long as the method wants them, 0 where primers go out together.
        """
        method, plan = METHODS[self._rules.method], self._next_plan()
        point_us = method.start_point_us(plan, lane, self._rules.seed)
        split = split_at(plan, point_us, primes_last_in_flight=method.primes_last_in_flight)
        first = min(plan.requests, key=lambda request: request.recorded_start_us)
        origin_us = first.offset_us + round((point_us - first.recorded_start_us) / self._rules.speedup)
        longest_us = method.longest_lead_us or 0
        leads = {
            r.request: round(min(point_us - r.recorded_start_us, longest_us) / self._rules.speedup)
            for r in split.primers
        }
        return self._begin(lane, now_us, plan, split.skipped, origin_us), leads

    @property
    def next_number(self) -> int:
        return self._next_play

    def next_plays(self, count: int) -> list[tuple[int, SessionPlan]]:
        """The plays that lanes will take next, with their numbers."""
        numbers = [self._next_play + step * self._rules.workers for step in range(count)]
        known = [number for number in numbers if self._endless or number < len(self._plans)]
        return [(number, self._plans[self._sampler.session(number)]) for number in known]

    @property
    def next_arrival_us(self) -> int | None:
        """Since profiling began."""
        return self._arrivals[-1][0] if self._arrivals else None

    def arrive(self, began_us: int) -> Play:
        """The next session to arrive, in a lane of its own."""
        at_us, index = self._arrivals.pop()
        return self._begin(self._next_play, began_us + at_us, self._plans[index], frozenset(), 0)

    def drop(self, play: Play) -> None:
        del self.live[play.number]

    def _next_plan(self) -> SessionPlan:
        return self._plans[self._sampler.session(self._next_play)]

    def _begin(self, lane: int, now_us: int, plan: SessionPlan, skipped: frozenset[int], origin_us: int) -> Play:
        play = Play(self._next_play, lane, plan, now_us, skipped, origin_us)
        self.live[play.number] = play
        self._next_play += self._rules.workers
        return play
