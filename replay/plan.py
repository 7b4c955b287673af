"""From a session to what replay is asked to do: sizes, waits and delays of every request; pure.

Delays are the recorded ones, capped at `idle_cap_us` each and divided by `speedup`. Requests that wait for nobody
(roots) start at their recorded offset on a timeline whose idle stretches are capped likewise. In an open loop nobody
waits: every request is a root, and no offset is capped. A request over the context limit is dropped alone: whoever
waited for it inherits what it waited for, with the sum of the delays and of the time the dropped request took, so order
and recorded distance stay. What is dropped is always counted, by reason.

Who waits for whom says the session, or a `Graph` that somebody else drew of it (`--compat`).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from corpus.dropping import bridge_edges, drop_requests
from corpus.errors import InputError
from corpus.graph import streams_of, topological_order
from corpus.session import Anchor, Edge, Request, Session

DropReason = Literal["over_context", "empty_prompt", "in_no_stream"]


@dataclass(frozen=True, slots=True)
class PlanRules:
    idle_cap_us: int | None  # None: delays stay as they are, whatever caps them later
    speedup: float
    max_context: int | None  # prompt plus output tokens
    open_loop: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing may be sent before `src` ended (or started) and `delay_us` passed since."""

    src: int
    delay_us: int
    anchor: Anchor


@dataclass(frozen=True, slots=True)
class Graph:
    """Streams in the order of sending, and what each request waits for: first what its own stream makes it wait for.

    A request in no stream is not sent. `starts_us`: when requests began, where whoever drew it reads the source's clock
    otherwise. `marker_block`: where prompts begin to differ between plays, if not at their first block.
    """

    streams: tuple[tuple[int, ...], ...]
    waits: Mapping[int, tuple[Wait, ...]]
    starts_us: Mapping[int, int] = field(default_factory=dict)
    marker_block: Mapping[int, int] = field(default_factory=dict)


DrawGraph = Callable[[Session], Graph]


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
    marker_block: int = 0  # the first block of the prompt that is of this play alone


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """`requests` are those to be sent, each stream's in the order of sending; `total` counts all the session has."""

    session: int
    label: str
    requests: tuple[PlannedRequest, ...]
    total: int
    dropped: tuple[tuple[DropReason, int], ...]
    clock_us: int | None = None  # when the session began on a clock that it shares with others, sped up


def plan_session(session: Session, rules: PlanRules, draw: DrawGraph | None = None) -> SessionPlan:
    """InputError when requests wait for each other in a circle."""
    dropped = {r.request: reason for r in session.requests if (reason := _drop_reason(r, rules))}
    try:
        graph = _recorded_graph(session, dropped.keys()) if draw is None else _drawn_graph(session, dropped, draw)
    except ValueError as error:
        hint = "link the session again" if draw is None else "replay it without --compat"
        raise InputError(session.label, f"edges cannot be replayed ({error})", hint) from error
    requests = [_moved(r, graph.starts_us.get(r.request, r.t_start_us)) for r in session.requests]
    offsets = _offsets(requests, None if rules.open_loop else rules.idle_cap_us)
    planned = tuple(
        _planned(session, requests[number], stream[0], graph, offsets, rules)
        for stream in graph.streams
        for number in stream
    )
    for number in {r.request for r in requests} - dropped.keys() - {r.request for r in planned}:
        dropped[number] = "in_no_stream"
    return SessionPlan(
        session=session.session,
        label=session.label,
        requests=tuple(sorted(planned, key=lambda r: r.request)) if draw is None else planned,
        total=len(session.requests),
        dropped=tuple(Counter(dropped.values()).items()),
        clock_us=_clock_us(session, rules.speedup) if rules.open_loop else None,
    )


def count_dropped(plans: Iterable[SessionPlan]) -> Counter[str]:
    total: Counter[str] = Counter()
    for plan in plans:
        total.update({str(reason): count for reason, count in plan.dropped})
    return total


def marker_blocks(plans: Iterable[SessionPlan]) -> dict[int, dict[int, int]]:
    """By session and request, where prompts begin to differ between plays, if not at their first block."""
    marked = ((plan, {r.request: r.marker_block for r in plan.requests if r.marker_block}) for plan in plans)
    return {plan.session: blocks for plan, blocks in marked if blocks}


def whole_blocks(input_tokens: int, listed_blocks: int, block_size: int) -> int:
    """How many listed blocks a prompt is made of; the rest of it is a tail of the request's own.

    Sources that round up list one block more than fits: its tokens are not whole, so it becomes tail.
    """
    return min(listed_blocks, input_tokens // block_size)


def _recorded_graph(session: Session, dropped: Iterable[int]) -> Graph:
    """The session's own edges, those of dropped requests bridged."""
    gone = set(dropped)
    streams: dict[int, list[int]] = defaultdict(list)
    for request, stream in enumerate(streams_of(len(session.requests), session.edges)):
        if request not in gone:
            streams[stream].append(request)
    waits = _waits(bridge_edges(session.requests, session.edges, gone))
    return Graph(tuple(tuple(stream) for stream in streams.values()), waits)


def _drawn_graph(session: Session, dropped: Mapping[int, DropReason], draw: DrawGraph) -> Graph:
    """Drawn of the session without the dropped requests, in its own numbers again."""
    graph = draw(drop_requests(session, dropped.keys()))
    stay = [r.request for r in session.requests if r.request not in dropped]
    topological_order(len(stay), _as_edges(graph))
    return Graph(
        streams=tuple(tuple(stay[number] for number in stream) for stream in graph.streams),
        waits={
            stay[dst]: tuple(Wait(stay[wait.src], wait.delay_us, wait.anchor) for wait in waits)
            for dst, waits in graph.waits.items()
        },
        starts_us={stay[number]: start for number, start in graph.starts_us.items()},
        marker_block={stay[number]: block for number, block in graph.marker_block.items()},
    )


def _as_edges(graph: Graph) -> Iterator[Edge]:
    for dst, waits in graph.waits.items():
        yield from (Edge(wait.src, dst, "sequence", wait.delay_us, wait.anchor, "timing") for wait in waits)


def _moved(request: Request, start_us: int) -> Request:
    if start_us == request.t_start_us:
        return request
    end_us = None if request.t_end_us is None else request.t_end_us - request.t_start_us + start_us
    return replace(request, t_start_us=start_us, t_end_us=end_us)


def _planned(
    session: Session, request: Request, stream: int, graph: Graph, offsets: Mapping[int, int], rules: PlanRules
) -> PlannedRequest:
    number = request.request
    waits = () if rules.open_loop else graph.waits.get(number, ())
    return PlannedRequest(
        request=number,
        agent=request.agent,
        stream=stream,
        model=session.models[request.model] if 0 <= request.model < len(session.models) else None,
        input_tokens=request.input_tokens,
        output_tokens=_output_tokens(request),
        waits=tuple(_effective(wait, rules) for wait in waits),
        offset_us=round(offsets[number] / rules.speedup),
        recorded_start_us=request.t_start_us,
        recorded_end_us=request.t_end_us,
        marker_block=graph.marker_block.get(number, 0),
    )


def _output_tokens(request: Request) -> int:
    return max(1, request.output_tokens or 1)


def _drop_reason(request: Request, rules: PlanRules) -> DropReason | None:
    if request.input_tokens < 1:
        return "empty_prompt"  # no server takes it
    if rules.max_context is not None and request.input_tokens + _output_tokens(request) > rules.max_context:
        return "over_context"
    return None


def _effective(wait: Wait, rules: PlanRules) -> Wait:
    delay = max(0, wait.delay_us)
    capped = delay if rules.idle_cap_us is None else min(delay, rules.idle_cap_us)
    return Wait(wait.src, round(capped / rules.speedup), wait.anchor)


def _waits(edges: Iterable[Edge]) -> dict[int, tuple[Wait, ...]]:
    """Per request what it waits for, with recorded delays: of several edges from one moment the longest counts."""
    longest: dict[int, dict[tuple[int, Anchor], int]] = defaultdict(dict)
    for edge in edges:
        key, known = (edge.src, edge.anchor), longest[edge.dst]
        known[key] = max(edge.delay_us, known.get(key, 0))
    return {
        dst: tuple(Wait(src, delay, anchor) for (src, anchor), delay in known.items()) for dst, known in longest.items()
    }


def _offsets(requests: Sequence[Request], cap_us: int | None) -> dict[int, int]:
    """Start of every request on a timeline on which the session is never idle for longer than the cap."""
    offsets: dict[int, int] = {}
    busy_until: int | None = None
    cut = 0
    for request in sorted(requests, key=lambda r: r.t_start_us):
        if busy_until is None:
            busy_until = cut = request.t_start_us
        if cap_us is not None:
            cut += max(0, request.t_start_us - busy_until - cap_us)
        offsets[request.request] = request.t_start_us - cut
        busy_until = max(busy_until, request.t_end_us or request.t_start_us)
    return offsets


def _clock_us(session: Session, speedup: float) -> int | None:
    """Formats whose sessions are cut out of one file state when each began (`corpus.formats.conversations`)."""
    stated = json.loads(session.source).get("t0_us") if session.source else None
    return round(stated / speedup) if isinstance(stated, int | float) else None
