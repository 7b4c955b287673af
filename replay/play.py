"""One playing of one session: who still waits for whom, and when each request is due; pure, in virtual time.

A play that starts in the middle of its session (steady warm-up) never sends the skipped requests; whoever waited for
one of them waits no longer for it. A failed request counts as ended. `hasten` moves all that is still to come: what
has passed of a delay stays passed, what is left of it becomes shorter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from replay.plan import PlannedRequest, SessionPlan, Wait


class _Moment(NamedTuple):
    at_us: int
    hastened_us: int  # by how much the play had been hastened until then


class Play:
    """Mutable state of a play. Methods that measure a moment return the requests it set free, by number."""

    __slots__ = (
        "_delays",
        "_ended",
        "_floors",
        "_followers",
        "_fronts",
        "_gone",
        "_hastened_us",
        "_in_flight",
        "_open",
        "_origin_us",
        "_release",
        "_skipped",
        "_started",
        "_taken",
        "_waits",
        "lane",
        "number",
        "origin_us",
        "plan",
        "unsent",
    )

    def __init__(
        self, number: int, lane: int, plan: SessionPlan, now_us: int, skipped: frozenset[int], origin_us: int = 0
    ) -> None:
        """`origin_us`: the moment on the plan's time line at which the play starts."""
        self.number = number
        self.lane = lane
        self.plan = plan
        self.origin_us = origin_us
        self._skipped = skipped
        self.unsent: dict[int, PlannedRequest] = {r.request: r for r in plan.requests if r.request not in skipped}
        self._waits = {n: tuple(w for w in r.waits if w.src not in skipped) for n, r in self.unsent.items()}
        self._open = {n: len(waits) for n, waits in self._waits.items()}  # moments not measured yet
        self._followers: dict[tuple[int, str], list[int]] = {}
        for number_, waits in self._waits.items():
            for wait in waits:
                self._followers.setdefault((wait.src, wait.anchor), []).append(number_)
        self._started: dict[int, _Moment] = {}
        self._in_flight: set[int] = set()
        self._ended: dict[int, _Moment] = {}
        self._gone: set[int] = set()
        self._floors: dict[int, int] = {}  # moments before which requests are not due, whatever they waited for
        self._taken = 0
        self._hastened_us = 0
        self.release(now_us)

    @property
    def idle(self) -> bool:
        """Nothing of it is in flight."""
        return self._taken == len(self._ended)

    @property
    def complete(self) -> bool:
        return not self.unsent and self.idle

    @property
    def release_us(self) -> int:
        return self._release.at_us

    def release(self, now_us: int, *, delays: bool = True, fronts: Mapping[int, int] | None = None) -> None:
        """From now on, with or without delays; roots keep their distance from the earliest one left.

        `fronts`: requests that go out so many microseconds from now instead of their own delays after others; others
        still must have ended.
        """
        self._release = _Moment(now_us, self._hastened_us)
        self._origin_us = min((r.offset_us for r in self.unsent.values()), default=0)
        self._delays = delays
        self._fronts = fronts or {}

    def free(self) -> list[int]:
        """Requests that wait for no further moment and were not sent."""
        return [n for n in self.unsent if not self._open[n]]

    def fronts(self) -> dict[int, int]:
        """What comes next in every stream, with its distance from the origin; others may keep it waiting."""
        return {
            n: max(0, request.offset_us - self.origin_us)
            for n, request in self.unsent.items()
            if not request.waits or self._is_passed(request.waits[0])
        }

    def take(self, request: int) -> PlannedRequest:
        """The request is being sent: it never is again."""
        self._taken += 1
        return self.unsent.pop(request)

    def start(self, request: int, at_us: int) -> list[int]:
        if request in self._started:
            return []
        self._started[request] = _Moment(at_us, self._hastened_us)
        self._in_flight.add(request)
        return self._measured(request, "start")

    def end(self, request: int, at_us: int) -> list[int]:
        freed = self.start(request, at_us)  # it may have failed before it was sent
        self._ended[request] = _Moment(at_us, self._hastened_us)
        self._in_flight.discard(request)
        return freed + self._measured(request, "end")

    def give_up(self, request: int, at_us: int) -> list[int]:
        """Nothing more of the request's stream is sent, nor of what that would have started.

        Who else waited for any of it waits no longer; returns the requests that this set free.
        """
        stream = next(r.stream for r in self.plan.requests if r.request == request)
        gone: set[int] = set()
        while found := {
            n
            for n, r in self.unsent.items()
            if n not in gone and (r.stream == stream or (r.waits and r.waits[0].src in gone))
        }:
            gone |= found
        for number in gone:
            del self.unsent[number]
        self._gone |= gone
        freed = [n for number in sorted(gone) for anchor in ("start", "end") for n in self._measured(number, anchor)]
        self._floors |= dict.fromkeys(freed, at_us)
        return freed

    def hasten(self, by_us: int) -> None:
        self._hastened_us += by_us

    def waits(self, request: int) -> tuple[Wait, ...]:
        """With the delays that count now."""
        kept = (wait for wait in self._waits[request] if wait.src not in self._gone)
        return tuple(Wait(wait.src, self._delay_us(request, wait), wait.anchor) for wait in kept)

    def root_offset_us(self, request: int) -> int | None:
        """Microseconds after `release_us` before which the request does not go out; None: others decide alone."""
        if request in self._floors:
            return self._floors[request] - self.release_us
        if request in self._fronts:
            return self._left_us(self._fronts[request], self._release)
        if self._waits[request]:
            return None
        return self._left_us(self.unsent[request].offset_us - self._origin_us, self._release) if self._delays else 0

    def due_us(self, request: int) -> int:
        """Only for a free request."""
        due = self.release_us + (self.root_offset_us(request) or 0)
        for wait in self.waits(request):
            due = max(due, self._moments(wait)[wait.src].at_us + wait.delay_us)
        return due

    def next_up(self) -> list[int]:
        """Requests not sent yet all of whose predecessors were: each may be due as soon as an answer ends."""
        ahead = {n for source in self._in_flight for n in self._followers.get((source, "end"), [])}
        return [
            n
            for n in sorted(ahead)
            if n in self.unsent and all(w.src in self._started or w.src in self._gone for w in self._waits[n])
        ]

    def _delay_us(self, request: int, wait: Wait) -> int:
        if not self._delays or request in self._fronts:
            return 0
        moment = self._moments(wait).get(wait.src)
        return wait.delay_us if moment is None else self._left_us(wait.delay_us, moment)

    def _left_us(self, delay_us: int, since: _Moment) -> int:
        return max(0, delay_us - (self._hastened_us - since.hastened_us))

    def _moments(self, wait: Wait) -> dict[int, _Moment]:
        return self._ended if wait.anchor == "end" else self._started

    def _is_passed(self, wait: Wait) -> bool:
        """Whether what the wait is for was skipped or has happened."""
        return wait.src in self._skipped or wait.src in self._gone or wait.src in self._moments(wait)

    def _measured(self, request: int, anchor: str) -> list[int]:
        freed = []
        for follower in self._followers.get((request, anchor), []):
            self._open[follower] -= 1
            if not self._open[follower] and follower in self.unsent:
                freed.append(follower)
        return freed
