"""One playing of one session: who still waits for whom, and when each request is due; pure, in virtual time.

A play that starts in the middle of its session (steady warm-up) never sends the skipped requests; whoever waited for
one of them waits no longer for it. A failed request counts as ended.
"""

from __future__ import annotations

from replay.plan import PlannedRequest, SessionPlan, Wait


class Play:
    """Mutable state of a play. Methods that measure a moment return the requests it set free, by number."""

    __slots__ = (
        "_ended",
        "_followers",
        "_in_flight",
        "_open",
        "_origin_us",
        "_started",
        "_waits",
        "lane",
        "number",
        "plan",
        "release_us",
        "unsent",
    )

    def __init__(self, number: int, lane: int, plan: SessionPlan, now_us: int, skipped: frozenset[int]) -> None:
        self.number = number
        self.lane = lane
        self.plan = plan
        self.unsent: dict[int, PlannedRequest] = {r.request: r for r in plan.requests if r.request not in skipped}
        self._waits = {n: tuple(w for w in r.waits if w.src not in skipped) for n, r in self.unsent.items()}
        self._open = {n: len(waits) for n, waits in self._waits.items()}  # moments not measured yet
        self._followers: dict[tuple[int, str], list[int]] = {}
        for number_, waits in self._waits.items():
            for wait in waits:
                self._followers.setdefault((wait.src, wait.anchor), []).append(number_)
        self._started: dict[int, int] = {}
        self._in_flight: set[int] = set()
        self._ended: dict[int, int] = {}
        self.release(now_us)

    @property
    def complete(self) -> bool:
        return not self.unsent and len(self._ended) == len(self._waits)

    def release(self, now_us: int) -> None:
        """From now on; roots keep their distance from the earliest request that is still to be sent."""
        self.release_us = now_us
        self._origin_us = min((r.offset_us for r in self.unsent.values()), default=0)

    def free(self) -> list[int]:
        """Requests that wait for no further moment and were not sent."""
        return [n for n in self.unsent if not self._open[n]]

    def take(self, request: int) -> PlannedRequest:
        """The request is being sent: it never is again."""
        return self.unsent.pop(request)

    def start(self, request: int, at_us: int) -> list[int]:
        if request in self._started:
            return []
        self._started[request] = at_us
        self._in_flight.add(request)
        return self._measured(request, "start")

    def end(self, request: int, at_us: int) -> list[int]:
        freed = self.start(request, at_us)  # it may have failed before it was sent
        self._ended[request] = at_us
        self._in_flight.discard(request)
        return freed + self._measured(request, "end")

    def waits(self, request: int, *, delays: bool) -> tuple[Wait, ...]:
        waits = self._waits[request]
        return waits if delays else tuple(Wait(w.src, 0, w.anchor) for w in waits)

    def root_offset_us(self, request: int, *, delays: bool) -> int | None:
        """Microseconds after `release_us` at which a request that waits for nobody goes out."""
        if self._waits[request]:
            return None
        return self.unsent[request].offset_us - self._origin_us if delays else 0

    def due_us(self, request: int, *, delays: bool) -> int:
        """Only for a free request."""
        due = self.release_us + (self.root_offset_us(request, delays=delays) or 0)
        for wait in self.waits(request, delays=delays):
            moments = self._ended if wait.anchor == "end" else self._started
            due = max(due, moments[wait.src] + wait.delay_us)
        return due

    def next_up(self) -> list[int]:
        """Requests not sent yet all of whose predecessors were: each may be due as soon as an answer ends."""
        ahead = {n for source in self._in_flight for n in self._followers.get((source, "end"), [])}
        return [n for n in sorted(ahead) if n in self.unsent and all(w.src in self._started for w in self._waits[n])]

    def _measured(self, request: int, anchor: str) -> list[int]:
        freed = []
        for follower in self._followers.get((request, anchor), []):
            self._open[follower] -= 1
            if not self._open[follower] and follower in self.unsent:
                freed.append(follower)
        return freed
