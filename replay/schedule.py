"""What is sent when: lanes, warm-up stages and profiling, in virtual time; the only owner of timers and dependencies.

Events come in (`Tick`, `Started`, `Ended`), commands go out (`Send`s, then one `WaitUntil` or `Done`); no clock, no
socket. A lane is one live session play; play number p is session p modulo their count, so contents do not depend on
timing.

| warm-up | stage   | what is sent                                                | ends when            |
|---------|---------|-------------------------------------------------------------|----------------------|
| steady  | prime   | last request before the start point of every active stream  | all ended            |
| steady  | advance | ten further requests a lane, edges kept, no delays          | all ended            |
| steady  | profile | everything, delays kept; an ended play is followed by another | duration is over   |
| none    | profile | every session once from its beginning                       | all ended, or duration |

Warm-up requests ask for one output token. A stream is active at the point when it has a request before it and another
one after it, or one in flight there.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from corpus.run import Phase
from replay.plan import PlannedRequest, SessionPlan, Wait
from replay.play import Play

Stage = Literal["prime", "advance", "profile", "done"]
Warmup = Literal["steady", "none"]

# Published methodology: start between 25 % and 75 % of the session, then ten more requests a lane.
_START_FROM: Final = 0.25
_START_TO: Final = 0.75
_ADVANCE_REQUESTS: Final = 10


@dataclass(frozen=True, slots=True)
class ScheduleRules:
    lanes: int
    warmup: Warmup
    duration_us: int
    seed: int


@dataclass(frozen=True, slots=True)
class Tick:
    at_us: int


@dataclass(frozen=True, slots=True)
class Started:
    play: int
    request: int
    at_us: int


@dataclass(frozen=True, slots=True)
class Ended:
    """Finished or failed: successors are set free either way."""

    play: int
    request: int
    at_us: int


@dataclass(frozen=True, slots=True)
class Send:
    lane: int
    play: int
    plan: SessionPlan
    request: PlannedRequest
    phase: Phase
    output_tokens: int
    waits: tuple[Wait, ...]
    release_us: int
    root_offset_us: int | None
    due_us: int


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """Nothing to do before `at_us` unless a request starts or ends; None: only such an event can help."""

    at_us: int | None


@dataclass(frozen=True, slots=True)
class Done:
    pass


Event = Tick | Started | Ended
Command = Send | WaitUntil | Done


def start_point_us(plan: SessionPlan, lane: int, seed: int) -> int:
    """A recorded moment between 25 % and 75 % of the way from the first to the last request start."""
    digest = hashlib.blake2b(f"{seed}:{plan.session}:{lane}".encode(), digest_size=7).digest()
    share = _START_FROM + (_START_TO - _START_FROM) * int.from_bytes(digest) / 2**56
    starts = [r.recorded_start_us for r in plan.requests]
    return min(starts) + round((max(starts) - min(starts)) * share)


def split_at(plan: SessionPlan, point_us: int) -> tuple[list[int], frozenset[int]]:
    """(primers, requests before the point that are not sent at all)."""
    last: dict[int, PlannedRequest] = {}
    goes_on: set[int] = set()
    before: set[int] = set()
    for request in plan.requests:  # by start
        if request.recorded_start_us < point_us:
            last[request.stream] = request
            before.add(request.request)
        else:
            goes_on.add(request.stream)
    active = [r.request for stream, r in last.items() if stream in goes_on or (r.recorded_end_us or 0) > point_us]
    return sorted(active), frozenset(before.difference(active))


class Scheduler:
    """`handle` every event in the order of time; sessions without a request must have been left out of `plans`."""

    def __init__(self, plans: Sequence[SessionPlan], rules: ScheduleRules) -> None:
        self._plans = plans
        self._rules = rules
        self._lanes: list[Play | None] = [None] * rules.lanes
        self._live: dict[int, Play] = {}
        self._next_play = 0
        self._ready: list[tuple[int, int, int]] = []  # heap of (due, play, request)
        self._quota = [0] * rules.lanes
        self._in_flight = 0
        self.stage: Stage | None = None
        self.profile_start_us: int | None = None
        self.completed_plays: set[int] = set()

    def handle(self, event: Event) -> list[Command]:
        if self.stage is None:
            self._begin(event.at_us)
        if isinstance(event, Started):
            self._free(self._live[event.play], self._live[event.play].start(event.request, event.at_us))
        elif isinstance(event, Ended):
            self._end(event)
        sends = self._due_sends(event.at_us)
        while not self._in_flight and not self._ready and self.stage in ("prime", "advance"):
            self._next_stage(event.at_us)
            sends += self._due_sends(event.at_us)
        return [*sends, self._outlook(event.at_us)]

    def is_live(self, play: int) -> bool:
        return play in self._live

    def upcoming(self, now_us: int, horizon_us: int) -> list[tuple[int, int, int]]:
        """(play, session, request) of what may be due within the horizon, as far as it can be known, soonest first."""
        near = sorted(entry for entry in self._ready if entry[0] <= now_us + horizon_us)
        keys = [(play, self._live[play].plan.session, request) for _, play, request in near]
        return keys + [
            (play.number, play.plan.session, request) for play in self._live.values() for request in play.next_up()
        ]

    def _begin(self, now_us: int) -> None:
        self.stage = "prime" if self._rules.warmup == "steady" else "profile"
        if self.stage == "profile":
            self.profile_start_us = now_us
        for lane in range(self._rules.lanes):
            self._take_session(lane, now_us)

    def _take_session(self, lane: int, now_us: int) -> None:
        if self._rules.warmup == "none" and self._next_play >= len(self._plans):
            self._lanes[lane] = None
            return
        plan = self._plans[self._next_play % len(self._plans)]
        primers: list[int] = []
        skipped: frozenset[int] = frozenset()
        if self.stage == "prime":
            primers, skipped = split_at(plan, start_point_us(plan, lane, self._rules.seed))
        play = Play(self._next_play, lane, plan, now_us, skipped)
        self._next_play += 1
        self._lanes[lane] = self._live[play.number] = play
        if self.stage == "prime":
            self._ready += [(now_us, play.number, request) for request in primers]
            heapq.heapify(self._ready)
        else:
            self._free(play, play.free())

    def _free(self, play: Play, requests: Iterable[int]) -> None:
        if self.stage == "prime":
            return  # what follows a primer waits for the next stage
        delays = self.stage == "profile"
        for request in requests:
            heapq.heappush(self._ready, (play.due_us(request, delays=delays), play.number, request))

    def _end(self, event: Ended) -> None:
        play = self._live[event.play]
        self._in_flight -= 1
        self._free(play, play.end(event.request, event.at_us))
        if play.complete and self.stage != "prime":
            self._finish(play, event.at_us)

    def _finish(self, play: Play, now_us: int) -> None:
        del self._live[play.number]
        if self.stage == "profile":
            self.completed_plays.add(play.number)
        self._take_session(play.lane, now_us)

    def _next_stage(self, now_us: int) -> None:
        self.stage = "advance" if self.stage == "prime" else "profile"
        if self.stage == "profile":
            self.profile_start_us = now_us
        else:
            self._quota = [_ADVANCE_REQUESTS] * self._rules.lanes
        for play in list(self._live.values()):
            play.release(now_us)
            if play.complete:
                self._finish(play, now_us)
            else:
                self._free(play, play.free())

    def _due_sends(self, now_us: int) -> list[Command]:
        sends: list[Command] = []
        if self._is_over(now_us):
            return sends
        while self._ready and self._ready[0][0] <= now_us:
            due_us, number, request = heapq.heappop(self._ready)
            play = self._live[number]
            if self.stage == "advance":
                if not self._quota[play.lane]:
                    continue  # stays unsent: profiling finds it free
                self._quota[play.lane] -= 1
            sends.append(self._send(play, request, due_us))
        return sends

    def _send(self, play: Play, request: int, due_us: int) -> Send:
        delays = self.stage == "profile"
        prime = self.stage == "prime"
        waits = () if prime else play.waits(request, delays=delays)
        offset = 0 if prime else play.root_offset_us(request, delays=delays)
        planned = play.take(request)
        self._in_flight += 1
        return Send(
            lane=play.lane,
            play=play.number,
            plan=play.plan,
            request=planned,
            phase="profile" if delays else "warmup",
            output_tokens=planned.output_tokens if delays else 1,
            waits=waits,
            release_us=play.release_us,
            root_offset_us=offset,
            due_us=due_us,
        )

    def _is_over(self, now_us: int) -> bool:
        return self.profile_start_us is not None and now_us >= self.profile_start_us + self._rules.duration_us

    def _outlook(self, now_us: int) -> WaitUntil | Done:
        if self._is_over(now_us) or not self._live:
            self.stage = "done"
            return Done()
        if not self._ready and not self._in_flight:
            raise RuntimeError("requests are left that nothing will ever set free")
        moments = [self._ready[0][0]] if self._ready else []
        if self.profile_start_us is not None:
            moments.append(self.profile_start_us + self._rules.duration_us)
        return WaitUntil(min(moments, default=None))
