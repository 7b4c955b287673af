"""The published method, and what the reference harness (agentx-harness 1.0.12) does otherwise: one table.

| what             | published                                    | agentx                                         |
|------------------|----------------------------------------------|------------------------------------------------|
| graph            | the session's own edges                      | drawn like the harness's (`graph --compat`)    |
| start point      | seed, session and lane through BLAKE2b       | the harness's formula                          |
| alive there      | requests before and after, or one in flight  | requests before and after                      |
| primers          | all at once                                  | spread, so that all start points coincide      |
| profiling begins | with what the last warm-up answers set free  | at the recorded distance from the start point  |
| idle cap         | on each delay of a stream                    | on a session tree with nothing in flight       |
| all idle         | is waited for                                | for 10 s at most, then all timers move up      |
| context overflow | the stream goes on                           | the stream is over                             |
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from replay.plan import PlannedRequest, SessionPlan

MethodName = Literal["published", "agentx"]

_START_FROM: Final = 0.25
_START_TO: Final = 0.75


@dataclass(frozen=True, slots=True)
class Method:
    start_point_us: Callable[[SessionPlan, int, int], float]  # of a plan in a lane under a seed, on the recorded clock
    primes_last_in_flight: bool  # a stream that only has a request in flight at the point is alive
    longest_lead_us: int | None  # None: primers go out together
    keeps_distance: bool  # from the start point to the first profiled request of each stream
    caps_trees: bool
    system_idle_cap_us: int | None
    overflow_ends_stream: bool


@dataclass(frozen=True, slots=True)
class Split:
    primers: tuple[PlannedRequest, ...]
    skipped: frozenset[int]  # before the point and not sent at all


def start_point_us(plan: SessionPlan, lane: int, seed: int) -> float:
    """A recorded moment between 25 % and 75 % of the way from the first to the last request start."""
    digest = hashlib.blake2b(f"{seed}:{plan.session}:{lane}".encode(), digest_size=7).digest()
    share = _START_FROM + (_START_TO - _START_FROM) * int.from_bytes(digest) / 2**56
    starts = [r.recorded_start_us for r in plan.requests]
    return min(starts) + round((max(starts) - min(starts)) * share)


def agentx_start_point_us(plan: SessionPlan, lane: int, seed: int) -> float:
    """The harness's: a uniform number of numpy's, seeded by SHA-256 of seed, trace id and lane; in milliseconds."""
    starts = [r.recorded_start_us / 1e6 * 1000.0 for r in plan.requests]
    first, last = min(starts), max(starts)
    low, high = first + _START_FROM * (last - first), first + _START_TO * (last - first)
    digest = hashlib.sha256(f"{seed}:{plan.label}:{lane}".encode()).digest()
    found = low if low == high else float(np.random.default_rng(int.from_bytes(digest[:8])).uniform(low, high))
    return found * 1000.0


def split_at(plan: SessionPlan, point_us: float, *, primes_last_in_flight: bool = True) -> Split:
    """The latest request before the point of every stream that is alive there, and what came before those."""
    last: dict[int, PlannedRequest] = {}
    goes_on: set[int] = set()
    before: set[int] = set()
    for request in plan.requests:
        if request.stream in goes_on or request.recorded_start_us >= point_us:
            goes_on.add(request.stream)
        else:
            last[request.stream] = request
            before.add(request.request)
    alive = [
        request
        for stream, request in last.items()
        if stream in goes_on or (primes_last_in_flight and (request.recorded_end_us or 0) > point_us)
    ]
    primers = tuple(sorted(alive, key=lambda request: request.request))
    return Split(primers, frozenset(before.difference(r.request for r in primers)))


METHODS: Final[dict[MethodName, Method]] = {
    "published": Method(
        start_point_us=start_point_us,
        primes_last_in_flight=True,
        longest_lead_us=None,
        keeps_distance=False,
        caps_trees=False,
        system_idle_cap_us=None,
        overflow_ends_stream=False,
    ),
    "agentx": Method(
        start_point_us=agentx_start_point_us,
        primes_last_in_flight=False,
        longest_lead_us=10_000_000,
        keeps_distance=True,
        caps_trees=True,
        system_idle_cap_us=10_000_000,
        overflow_ends_stream=True,
    ),
}
