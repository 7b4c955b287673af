"""From a session to what replay is asked to do: sizes, waits and delays of every request; pure.

Delays are the recorded ones, capped at `idle_cap_us` each and divided by `speedup`. Requests that wait for nobody
(roots) start at their recorded offset on a timeline whose idle stretches are capped likewise. A request over the
context limit is dropped alone: whoever waited for it inherits what it waited for, with the sum of the delays and of
the time the dropped request took, so order and recorded distance stay. What is dropped is always counted, by reason.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from corpus.dropping import bridge_edges
from corpus.errors import InputError
from corpus.purpose import STEPS
from corpus.session import Anchor, Edge, Request, Session

DropReason = Literal["over_context", "empty_prompt"]


@dataclass(frozen=True, slots=True)
class PlanRules:
    idle_cap_us: int
    speedup: float
    max_context: int | None  # prompt plus output tokens


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing may be sent before `src` ended (or started) and `delay_us` passed since."""

    src: int
    delay_us: int
    anchor: Anchor


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    request: int
    agent: int
    stream: int  # requests of one stream continue one context
    model: str | None
    input_tokens: int
    output_tokens: int
    waits: tuple[Wait, ...]
    offset_us: int  # start since the session's first start, idle-capped and sped up
    recorded_start_us: int
    recorded_end_us: int | None


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """`requests` are those to be sent, by number; `total` counts all the session has."""

    session: int
    requests: tuple[PlannedRequest, ...]
    total: int
    dropped: tuple[tuple[DropReason, int], ...]


def plan_session(session: Session, rules: PlanRules) -> SessionPlan:
    """Raises InputError when the session's edges form a cycle."""
    requests = session.requests
    dropped = {r.request: reason for r in requests if (reason := _drop_reason(r, rules))}
    try:
        waits = _waits(bridge_edges(requests, session.edges, dropped.keys()))
    except ValueError as error:
        raise InputError(session.label, f"edges cannot be replayed ({error})", "link the session again") from error
    offsets = _capped_offsets(requests, rules.idle_cap_us)
    side = {edge.dst for edge in session.edges if edge.kind == "aux"}
    planned = tuple(
        PlannedRequest(
            request=r.request,
            agent=r.agent,
            stream=-1 - r.request if r.request in side or r.purpose not in STEPS else r.agent,
            model=session.models[r.model] if 0 <= r.model < len(session.models) else None,
            input_tokens=r.input_tokens,
            output_tokens=_output_tokens(r),
            waits=tuple(_effective(wait, rules) for wait in waits.get(r.request, ())),
            offset_us=round(offsets[r.request] / rules.speedup),
            recorded_start_us=r.t_start_us,
            recorded_end_us=r.t_end_us,
        )
        for r in requests
        if r.request not in dropped
    )
    return SessionPlan(session.session, planned, len(requests), tuple(Counter(dropped.values()).items()))


def count_dropped(plans: Iterable[SessionPlan]) -> Counter[str]:
    total: Counter[str] = Counter()
    for plan in plans:
        total.update({str(reason): count for reason, count in plan.dropped})
    return total


def whole_blocks(input_tokens: int, listed_blocks: int, block_size: int) -> int:
    """How many listed blocks a prompt is made of; the rest of it is a tail of the request's own.

    Sources that round up list one block more than fits: its tokens are not whole, so it becomes tail.
    """
    return min(listed_blocks, input_tokens // block_size)


def _output_tokens(request: Request) -> int:
    return max(1, request.output_tokens or 1)


def _drop_reason(request: Request, rules: PlanRules) -> DropReason | None:
    if request.input_tokens < 1:
        return "empty_prompt"  # no server takes it
    if rules.max_context is not None and request.input_tokens + _output_tokens(request) > rules.max_context:
        return "over_context"
    return None


def _effective(wait: Wait, rules: PlanRules) -> Wait:
    delay = min(max(0, wait.delay_us), rules.idle_cap_us)
    return Wait(wait.src, round(delay / rules.speedup), wait.anchor)


def _waits(edges: Iterable[Edge]) -> dict[int, tuple[Wait, ...]]:
    """Per request what it waits for, with recorded delays: of several edges from one moment the longest counts."""
    longest: dict[int, dict[tuple[int, Anchor], int]] = defaultdict(dict)
    for edge in edges:
        key, known = (edge.src, edge.anchor), longest[edge.dst]
        known[key] = max(edge.delay_us, known.get(key, 0))
    return {
        dst: tuple(Wait(src, delay, anchor) for (src, anchor), delay in known.items()) for dst, known in longest.items()
    }


def _capped_offsets(requests: Sequence[Request], cap_us: int) -> dict[int, int]:
    """Start of every request on a timeline on which the session is never idle for longer than the cap."""
    offsets: dict[int, int] = {}
    busy_until: int | None = None
    cut = 0
    for request in sorted(requests, key=lambda r: r.t_start_us):
        if busy_until is None:
            busy_until = cut = request.t_start_us
        cut += max(0, request.t_start_us - busy_until - cap_us)
        offsets[request.request] = request.t_start_us - cut
        busy_until = max(busy_until, request.t_end_us or request.t_start_us)
    return offsets
