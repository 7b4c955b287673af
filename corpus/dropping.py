"""A session without some of its requests: what stays is renumbered, nothing else about it changes.

Times, positions and block ids stay as they are, so a dropped request leaves a gap and skipped ids, as in the published
sets that were made this way. Whoever waited for a dropped request inherits what it waited for, with the sum of the
delays and of the time the dropped request took, so order and recorded distance stay. An agent goes only when nothing
of it is left; its children then belong to its parent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from corpus.blocks import encode_blocks, encode_segments, expand_blocks, expand_segments
from corpus.graph import end_us, predecessors, topological_order
from corpus.session import Agent, Delivery, Edge, EdgeKind, Evidence, Request, Session, ToolCall

# Weakest first. A bridge is known no better than the weaker of the edges it is made of.
_WEAKEST: Final[tuple[Evidence, ...]] = (
    "timing",
    "prefix",
    "fork",
    "agent_message",
    "notification",
    "tool_result",
    "id",
)


def drop_requests(session: Session, gone: Collection[int]) -> Session:
    """The session without the requests numbered in `gone`. ValueError when its edges form a cycle."""
    if not gone:
        return session
    stay = [request for request in session.requests if request.request not in gone]
    numbers = {request.request: number for number, request in enumerate(stay)}
    agents = _renumbered_agents(session, stay)
    calls = _calls(session, numbers, agents)
    return replace(
        session,
        agents=tuple(
            replace(session.agents[old], agent=new, parent=_parent(session.agents, old, agents))
            for old, new in agents.items()
        ),
        requests=_requests(session, numbers, agents),
        tool_calls=tuple(replace(call, call=number) for number, call in enumerate(calls)),
        edges=tuple(
            replace(edge, src=numbers[edge.src], dst=numbers[edge.dst])
            for edge in bridge_edges(session.requests, session.edges, gone)
        ),
    )


def over_context(session: Session, max_context: int) -> set[int]:
    """Requests whose prompt and answer together are longer than `max_context` tokens; an unknown answer counts 0."""
    return {r.request for r in session.requests if r.input_tokens + (r.output_tokens or 0) > max_context}


def bridge_edges(requests: Sequence[Request], edges: Sequence[Edge], gone: Collection[int]) -> list[Edge]:
    """Edges between the requests that stay, old numbers, sorted by (dst, src, kind); one of a kind and anchor each.

    ValueError when the edges form a cycle.
    """
    into = predecessors(len(requests), edges)
    bridged: list[list[Edge]] = [[] for _ in requests]
    for number in topological_order(len(requests), edges):  # sources first, so a dropped one knows what it waits for
        longest: dict[tuple[int, EdgeKind, str], Edge] = {}
        for edge in into[number]:
            found = [edge] if edge.src not in gone else [_join(one, edge, requests) for one in bridged[edge.src]]
            for one in found:
                key = (one.src, one.kind, one.anchor)
                if key not in longest or one.delay_us > longest[key].delay_us:
                    longest[key] = one
        bridged[number] = [longest[key] for key in sorted(longest)]
    return [edge for number, found in enumerate(bridged) if number not in gone for edge in found]


def _join(first: Edge, second: Edge, requests: Sequence[Request]) -> Edge:
    """One edge for two that meet in a dropped request."""
    passed = requests[first.dst]
    took = end_us(passed) - passed.t_start_us if second.anchor == "end" else 0
    return Edge(
        src=first.src,
        dst=second.dst,
        kind=_kind(first, second, requests),
        delay_us=max(0, first.delay_us) + max(0, took) + max(0, second.delay_us),
        anchor=first.anchor,
        evidence=min(first.evidence, second.evidence, key=_WEAKEST.index),
    )


def _kind(first: Edge, second: Edge, requests: Sequence[Request]) -> EdgeKind:
    """Into an aside it leads as before; else within one agent it is a step, and across agents what crossed names it."""
    if second.kind == "aux":
        return "aux"
    if requests[first.src].agent == requests[second.dst].agent:
        return "sequence"
    return first.kind if first.kind in ("spawn", "join") else second.kind


def _requests(session: Session, numbers: Mapping[int, int], agents: Mapping[int, int]) -> tuple[Request, ...]:
    lists, segments = expand_blocks([r.blocks for r in session.requests]), expand_segments(session.requests)
    stay = [session.requests[old] for old in numbers]
    blocks = encode_blocks(lists[r.request] for r in stay)
    deltas = encode_segments((segments[r.request] for r in stay), blocks)
    return tuple(
        replace(
            request,
            request=number,
            agent=agents[request.agent],
            retry_of=_first_staying(request.retry_of, session.requests, numbers),
            blocks=blocks[number],
            segments=None if request.segments is None else deltas[number],
        )
        for number, request in enumerate(stay)
    )


def _first_staying(attempt: int | None, requests: Sequence[Request], numbers: Mapping[int, int]) -> int | None:
    while attempt is not None and attempt not in numbers:
        attempt = requests[attempt].retry_of
    return None if attempt is None else numbers[attempt]


def _renumbered_agents(session: Session, stay: Sequence[Request]) -> dict[int, int]:
    """Old number to new; main and agents that had no request before stay as well."""
    had = {request.agent for request in session.requests}
    kept = {request.agent for request in stay} | {0}
    old = [agent.agent for agent in session.agents if agent.agent in kept or agent.agent not in had]
    return {number: new for new, number in enumerate(old)}


def _parent(agents: Sequence[Agent], agent: int, numbers: Mapping[int, int]) -> int | None:
    parent = agents[agent].parent
    while parent is not None and parent not in numbers:
        parent = agents[parent].parent
    return None if parent is None else numbers[parent]


def _calls(session: Session, numbers: Mapping[int, int], agents: Mapping[int, int]) -> list[ToolCall]:
    """Calls whose answer stays; a result or report is then first seen in the next prompt of the agent that stays."""
    found = []
    for call in session.tool_calls:
        if call.emit not in numbers:
            continue
        result = None if call.result is None else _next_staying(call.result, session.requests, numbers)
        reports = ((_next_staying(d.request, session.requests, numbers), d.evidence) for d in call.deliveries)
        deliveries = tuple(Delivery(request, evidence) for request, evidence in reports if request is not None)
        spawned = None if call.spawned is None else agents.get(call.spawned)
        found.append(replace(call, emit=numbers[call.emit], result=result, spawned=spawned, deliveries=deliveries))
    return found


def _next_staying(request: int, requests: Sequence[Request], numbers: Mapping[int, int]) -> int | None:
    agent = requests[request].agent
    later = (r.request for r in requests[request:] if r.agent == agent and r.request in numbers)
    found = next(later, None)
    return None if found is None else numbers[found]
