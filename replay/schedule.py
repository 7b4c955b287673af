"""What is sent when: lanes, warm-up stages and profiling, in virtual time; the only owner of timers and dependencies.

Events come in (`replay.commands`), commands go out (`Send`s, then one `WaitUntil` or `Done`; none where the one before
still holds); no clock, no socket.

| stage   | what is sent                                                    | ends when                          |
|---------|-----------------------------------------------------------------|------------------------------------|
| prime   | last request before the start point of every stream alive there | all ended                          |
| advance | ten further requests a lane, edges kept, no delays              | all ended                          |
| profile | everything, delays kept; a complete play is followed by another | duration, requests, or all ended   |
| drain   | nothing                                                         | all ended, or the grace time       |

Warm-up is prime and advance; its requests ask for one output token. A run without warm-up begins with profile. What
the harness does otherwise is in `replay.method`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from corpus.run import Phase
from replay.commands import (
    Command,
    Done,
    Ended,
    Event,
    Proceed,
    ScheduleRules,
    Send,
    StageOver,
    Started,
    WaitUntil,
)
from replay.due import DueQueue
from replay.lanes import AHEAD_US, Lanes
from replay.method import METHODS
from replay.plan import SessionPlan
from replay.play import Play
from replay.tolerance import Tolerance

Stage = Literal["prime", "advance", "profile", "drain", "done"]

ADVANCE_REQUESTS: Final = 10  # a lane, by the published method
LEAST_OPENINGS: Final = 16  # of plays to come, for which prompts are built


class Scheduler:
    """`handle` every event in the order of time; sessions without a request must have been left out of `plans`."""

    def __init__(self, plans: Sequence[SessionPlan], rules: ScheduleRules) -> None:
        self._rules = rules
        self._method = METHODS[rules.method]
        self._lanes = Lanes(plans, rules)
        self._queue = DueQueue()
        self._tolerance = Tolerance(rules.failure_share)
        self._quota = dict.fromkeys(self._lanes.numbers, ADVANCE_REQUESTS)
        self._primer_offsets: dict[tuple[int, int], int] = {}
        self._in_flight = 0
        self._profiled = 0
        self._idle_since_us = 0  # of the whole system, while nothing is in flight
        self._over: Done | None = None
        self._drain_until_us: int | None = None
        self.stage: Stage | None = None
        self.profile_start_us: int | None = None
        self.completed_plays: set[int] = set()
        self.given_up = 0  # requests that are never sent because their stream ran over the server's context

    @property
    def _live(self) -> dict[int, Play]:
        return self._lanes.live

    @property
    def _phase(self) -> Phase:
        return "warmup" if self.profile_start_us is None else "profile"

    def handle(self, event: Event) -> list[Command]:
        now = event.at_us
        if self.stage is None:
            self._begin(now)
        if isinstance(event, Started):
            play = self._live[event.play]
            freed = play.start(event.request, now)
            if not freed:
                return []
            self._free(play, freed)
        elif isinstance(event, Ended):
            self._end(event)
        elif isinstance(event, Proceed):
            self._next_stage(now)
        sends = self._sends(now)
        while self._stage_is_over and self._rules.workers == 1:
            self._next_stage(now)
            sends += self._sends(now)
        return [*sends, self._outlook(now)]

    @property
    def _stage_is_over(self) -> bool:
        return not self._in_flight and not self._queue and self.stage in ("prime", "advance") and not self._over

    def is_live(self, play: int) -> bool:
        return play in self._live

    def is_over(self, play: int) -> bool:
        """All of it was played; a play that is yet to come is not over."""
        return play not in self._live and play < self._lanes.next_number

    def upcoming(self, now_us: int, horizon_us: int) -> list[tuple[int, int, int]]:
        """(play, session, request) of what may be due within the horizon, as far as it can be known, soonest first."""
        near = [(play, request) for _, play, request in self._queue.until(now_us + horizon_us)]
        near += [(play.number, request) for play in self._live.values() if play.unsent for request in play.next_up()]
        return [(play, self._live[play].plan.session, n) for play, n in near if n in self._live[play].unsent]

    def openings(self) -> list[tuple[int, int, int]]:
        """As `upcoming`, what the plays begin with that lanes take next: due as soon as a lane is free."""
        if self._rules.arrivals_us is not None or self.stage not in ("advance", "profile"):
            return []
        ending = sum(not play.unsent for play in self._live.values())
        plays = self._lanes.next_plays(min(max(ending, LEAST_OPENINGS), len(self._lanes.numbers)))
        return [(number, plan.session, plan.requests[0].request) for number, plan in plays]

    def _begin(self, now_us: int) -> None:
        if self._rules.arrivals_us is not None:
            self._begin_profile(now_us)
            return
        if self._rules.warmup == "none":
            self._begin_profile(now_us)
            for lane in self._lanes.numbers:
                self._take_session(lane, now_us)
            return
        self.stage = "prime"
        taken = [self._lanes.take_midway(lane, now_us) for lane in self._lanes.numbers]
        longest = max((lead for _, leads in taken for lead in leads.values()), default=0)
        for play, leads in taken:
            for request, lead in leads.items():
                self._primer_offsets[play.number, request] = longest - lead
                self._queue.push(now_us + longest - lead, play.number, request)

    def _take_session(self, lane: int, now_us: int) -> None:
        play = self._lanes.take(lane, now_us)
        if play is not None:
            play.release(now_us, delays=self.stage != "advance")
            self._free(play, play.free())

    def _free(self, play: Play, requests: Iterable[int]) -> None:
        if self.stage == "prime":
            return  # what follows a primer waits for the next stage
        for request in requests:
            self._queue.push(play.due_us(request), play.number, request)

    def _end(self, event: Ended) -> None:
        play, now = self._live[event.play], event.at_us
        self._in_flight -= 1
        self._tolerance.count(self._phase, event.error)
        freed = play.end(event.request, now)
        if event.error == "context_overflow" and self._method.overflow_ends_stream:
            before = len(play.unsent)
            freed += play.give_up(event.request, now)
            self.given_up += before - len(play.unsent)
            self._queue.keep(lambda number, request: number != play.number or request in play.unsent)
        self._free(play, (request for request in freed if request in play.unsent))
        if not self._in_flight:
            self._idle_since_us = now
        if play.complete and self.stage != "prime":
            self._finish(play, now)
        elif play.idle:
            self._cap_tree(play, now)

    def _finish(self, play: Play, now_us: int) -> None:
        self._lanes.drop(play)
        if self.stage in ("profile", "drain"):
            self.completed_plays.add(play.number)
        if self.stage != "drain" and self._rules.arrivals_us is None:
            self._take_session(play.lane, now_us)

    def _next_stage(self, now_us: int) -> None:
        if self.stage == "prime":
            self.stage = "advance"
            self._release(now_us)
        else:
            self._begin_profile(now_us)

    def _begin_profile(self, now_us: int) -> None:
        self.stage = "profile"
        self.profile_start_us = self._idle_since_us = now_us
        self._release(now_us)

    def _release(self, now_us: int) -> None:
        """All plays go on with the rules of the stage that begins; those that are complete make room."""
        plays = list(self._live.values())
        fronts: dict[int, dict[int, int]] = {}
        if self.stage == "profile" and self._method.keeps_distance:
            fronts = {play.number: play.fronts() for play in plays}
        nearest = min((offset for found in fronts.values() for offset in found.values()), default=0)
        for play in plays:
            if play.complete:
                self._finish(play, now_us)
                continue
            mine = {request: offset - nearest for request, offset in fronts.get(play.number, {}).items()}
            play.release(now_us, delays=self.stage == "profile", fronts=mine)
            self._free(play, play.free())
            self._cap_tree(play, now_us)

    def _cap_tree(self, play: Play, now_us: int) -> None:
        """A tree with nothing in flight has its timers moved up so far that the next one ends the cap."""
        if self.stage != "profile" or not self._method.caps_trees or self._rules.idle_cap_us is None:
            return
        first = self._queue.first_of(play.number)
        cap_us = round(self._rules.idle_cap_us / self._rules.speedup)
        if first is not None and first > now_us + cap_us:
            play.hasten(first - now_us - cap_us)
            self._queue.move(play.number, lambda _play, request: play.due_us(request))

    def _cap_system(self) -> None:
        """With nothing in flight at all, every timer moves up so far that the next one ends the cap."""
        cap_us, next_us = self._method.system_idle_cap_us, self._queue.next_us
        if cap_us is None or self.stage != "profile" or self._in_flight or next_us is None:
            return
        excess = next_us - self._idle_since_us - round(cap_us / self._rules.speedup)
        if excess > 0:
            for play in self._live.values():
                play.hasten(excess)
            self._queue.move(None, lambda play, request: self._live[play].due_us(request))

    def _sends(self, now_us: int) -> list[Command]:
        self._check_end(now_us)
        sends: list[Command] = []
        if self._over or self.stage == "drain":
            return sends
        self._arrive(now_us)
        self._cap_system()
        while entry := self._queue.pop(now_us):
            due_us, number, request = entry
            play = self._live[number]
            if not self._admit(play):
                continue
            sends.append(self._send(play, request, due_us))
            if self._is_enough():
                break
        return sends

    def _admit(self, play: Play) -> bool:
        if self.stage != "advance":
            return True
        if not self._quota[play.lane]:
            return False  # stays unsent: profiling finds it free
        self._quota[play.lane] -= 1
        return True

    def _arrive(self, now_us: int) -> None:
        start = self.profile_start_us
        while start is not None and (at_us := self._lanes.next_arrival_us) is not None:
            if start + at_us > now_us + AHEAD_US:
                return
            play = self._lanes.arrive(start)
            self._free(play, play.free())

    def _send(self, play: Play, request: int, due_us: int) -> Send:
        prime = self.stage == "prime"
        waits = () if prime else play.waits(request)
        offset = self._primer_offsets.pop((play.number, request)) if prime else play.root_offset_us(request)
        planned = play.take(request)
        self._in_flight += 1
        profile = self.stage == "profile"
        self._profiled += profile
        return Send(
            lane=play.lane,
            play=play.number,
            plan=play.plan,
            request=planned,
            phase=self._phase,
            output_tokens=planned.output_tokens if profile else 1,
            waits=waits,
            release_us=play.release_us,
            root_offset_us=offset,
            due_us=due_us,
        )

    def _check_end(self, now_us: int) -> None:
        if self._over:
            return
        if (verdict := self._tolerance.verdict(self._phase)) is not None:
            self._over = Done("failures", verdict)
        elif self.stage == "profile" and now_us >= (end_us := self._end_us()):
            self.stage, self._over = "drain", Done("duration")
            self._drain_until_us = end_us + self._rules.grace_us

    def _is_enough(self) -> bool:
        if self._rules.requests is None:
            return False
        mine = len(range(self._rules.worker, self._rules.requests, self._rules.workers))
        if self._profiled < mine:
            return False
        self.stage, self._over = "drain", Done("requests")
        return True

    def _end_us(self) -> int:
        return (self.profile_start_us or 0) + self._rules.duration_us

    def _outlook(self, now_us: int) -> WaitUntil | StageOver | Done:
        drained = not self._in_flight or (self._drain_until_us is not None and now_us >= self._drain_until_us)
        if self._over and (self.stage != "drain" or drained):
            return self._done(self._over)
        if self.stage == "drain":
            return WaitUntil(self._drain_until_us)
        if self._stage_is_over:
            return StageOver(str(self.stage))
        arrival = self._lanes.next_arrival_us
        if not self._live and arrival is None:
            return self._done(Done("completed"))
        if not self._queue and not self._in_flight and arrival is None:
            left = sum(len(play.unsent) for play in self._live.values())
            return self._done(Done("stuck", f"{left} requests are left that nothing will ever set free"))
        moments = [] if self._queue.next_us is None else [self._queue.next_us]
        if self.profile_start_us is not None:
            moments.append(self._end_us())
            moments += [] if arrival is None else [max(now_us, self.profile_start_us + arrival - AHEAD_US)]
        return WaitUntil(min(moments, default=None))

    def _done(self, done: Done) -> Done:
        self.stage, self._over = "done", done
        return done
