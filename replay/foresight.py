"""What a trace knows of a request's future when the request is sent: the stuff of hints for routers and caches; pure.

No server in production knows any of this for certain: a harness may guess how long a tool runs, and a replay has seen
it. A run with hints therefore tells what perfect hints would bring, and is no measure of a server without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from corpus.blocks import expand_blocks, repeated_tokens
from corpus.session import Session
from replay.plan import PlannedRequest, SessionPlan

_FORK_SHARE: Final = 0.5  # of a prompt that a child takes over, to call it a fork of it
LOW_REUSE: Final = 0.25  # of a prompt that was computed before; a fresh sub-agent still has its harness's part


@dataclass(frozen=True, slots=True)
class Foresight:
    """Delays are the plan's: idle-capped and sped up."""

    stream: int
    parent: int | None  # the stream that its first request waits for
    pause_us: int | None  # from its end until its own stream goes on; None: the stream ends with it
    fork_us: int | None  # from its end until another stream begins with its prompt
    ends_child: bool  # last request of a stream that is not the session's first
    background: bool  # in a stream whose requests nobody outside waits for, and not the first
    reuse: float  # share of the prompt that the session computed before


def foresee(plan: SessionPlan, session: Session, *, forks: bool = True) -> dict[int, Foresight]:
    """Of every planned request, by its number. Forks take a comparison of prompts; without them `fork_us` is None."""
    streams: dict[int, list[PlannedRequest]] = {}
    for request in plan.requests:
        streams.setdefault(request.stream, []).append(request)
    stream_of = {request.request: request.stream for request in plan.requests}
    awaited = {stream_of[wait.src] for r in plan.requests for wait in r.waits if stream_of[wait.src] != r.stream}
    main = min(plan.requests, key=lambda r: (r.offset_us, r.request)).stream if plan.requests else None
    fork_us = _forks(streams, stream_of, session) if forks else {}
    found: dict[int, Foresight] = {}
    for stream, requests in streams.items():
        waited = [stream_of[wait.src] for wait in requests[0].waits]
        for number, request in enumerate(requests):
            after = requests[number + 1] if number + 1 < len(requests) else None
            found[request.request] = Foresight(
                stream=stream,
                parent=next((other for other in waited if other != stream), None),
                pause_us=None if after is None else _delay_us(request, after),
                fork_us=fork_us.get(request.request),
                ends_child=after is None and stream != main,
                background=stream != main and stream not in awaited,
                reuse=_reuse(session, request),
            )
    return found


def _delay_us(before: PlannedRequest, after: PlannedRequest) -> int:
    return next((wait.delay_us for wait in after.waits if wait.src == before.request), 0)


def _forks(streams: dict[int, list[PlannedRequest]], stream_of: dict[int, int], session: Session) -> dict[int, int]:
    """Request -> the shortest time from its end until a stream begins with its prompt."""
    forks: dict[int, int] = {}
    prompts = expand_blocks([request.blocks for request in session.requests])
    for stream, requests in streams.items():
        for wait in requests[0].waits:
            if stream_of[wait.src] != stream and wait.anchor == "end":
                theirs, ours = prompts[wait.src], prompts[requests[0].request]
                if len(theirs) and _shared(theirs, ours) >= _FORK_SHARE * len(theirs):
                    forks[wait.src] = min(wait.delay_us, forks.get(wait.src, wait.delay_us))
    return forks


def _shared(one: NDArray[np.int64], other: NDArray[np.int64]) -> int:
    length = min(len(one), len(other))
    differ = np.flatnonzero(one[:length] != other[:length])
    return int(differ[0]) if len(differ) else length


def _reuse(session: Session, request: PlannedRequest) -> float:
    return repeated_tokens(session.requests[request.request], session.block_size) / request.input_tokens
