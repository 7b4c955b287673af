"""`replay --compat agentx`: the graph that agentx-harness 1.0.12 draws (`dagbuild.agentx`), as what requests wait for.

| request                | waits for                                                                              |
|------------------------|----------------------------------------------------------------------------------------|
| turn of a stream       | the end of the turn before it, and the recorded gap after that                         |
| first turn of a branch | the end of the turn that spawned it, and its distance from the branch's first request  |
| ... begun before that  | the start of that turn, and its distance from it                                       |
| turn that joins        | also the last turn of every stream of the branch                                       |
| any                    | also what had ended when it began, of the other streams of its scope                   |
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from corpus.blocks import expand_blocks
from corpus.errors import InputError
from corpus.session import Session
from dagbuild.agentx.branches import Branch
from dagbuild.agentx.entries import Call, as_imported
from dagbuild.agentx.graph import Graph, Stream, build_graph
from replay import plan
from replay.plan import Wait


def agentx_graph(session: Session) -> plan.Graph:
    """InputError where the harness refuses the session, and for one whose WEKA export has other requests."""
    _check_same_requests(session)
    graph = build_graph(session)
    calls = {stream.name: stream.calls for stream in graph.streams}
    branch_of = {name: branch for branch in graph.branches for name in branch.streams}
    waits = {
        call.request: tuple(_waits(graph, stream, turn, calls, branch_of.get(stream.name)))
        for stream in graph.streams
        for turn, call in enumerate(stream.calls)
    }
    streams = tuple(tuple(call.request for call in stream.calls) for stream in graph.streams if stream.calls)
    starts = {call.request: _us(call.start_s) for stream in graph.streams for call in stream.calls}
    return plan.Graph(streams, waits, starts, _marker_blocks(session, graph))


def _check_same_requests(session: Session) -> None:
    seen = as_imported(session).requests
    same = len(seen) == len(session.requests) and all(
        (one.input_tokens, one.t_start_us) == (other.input_tokens, other.t_start_us)
        for one, other in zip(seen, session.requests, strict=True)
    )
    if not same:
        problem = "has requests that WEKA cannot hold, so the harness would see another session"
        raise InputError(session.label, problem, "replay it without --compat")


def _waits(
    graph: Graph, stream: Stream, turn: int, calls: Mapping[str, list[Call]], branch: Branch | None
) -> Iterator[Wait]:
    """What its own stream makes it wait for comes first."""
    call, root = stream.calls[turn], graph.streams[0]
    if turn:
        yield _gap(stream.calls[turn - 1], call)
    elif branch is not None:
        yield _spawn(root.calls[branch.spawn], branch, call)
    joined = [other for other in graph.branches if other.join == turn] if stream is root else []
    for other in joined:
        yield from (Wait(calls[name][-1].request, 0, "end") for name in other.streams if calls[name])
    for name, number in graph.after[stream.name, turn]:
        yield Wait(calls[name][number].request, 0, "end")


def _gap(before: Call, call: Call) -> Wait:
    return Wait(before.request, max(0, _us(call.start_s - before.end_s)), "end")


def _spawn(source: Call, branch: Branch, call: Call) -> Wait:
    overlaps = bool(source.api_s) and branch.start_s < source.end_s
    began_s = source.start_s if overlaps else branch.start_s
    return Wait(source.request, max(0, _us(call.start_s - began_s)), "start" if overlaps else "end")


def _us(seconds: float) -> int:
    return round(seconds * 1e6)


def _marker_blocks(session: Session, graph: Graph) -> dict[int, int]:
    """The harness's marker stands behind a declared system prefix, which plays of one trace therefore share."""
    declared = _declared_blocks(session.source, session.block_size)
    agents = {
        told["agent_id"]: _declared_blocks(agent.source, session.block_size)
        for agent in session.agents
        if agent.source and (told := json.loads(agent.source).get("declared"))
    }
    if not declared and not any(agents.values()):
        return {}
    prompts = expand_blocks([request.blocks for request in session.requests])
    root = graph.streams[0]
    found: dict[int, int] = {}
    for stream in (stream for stream in graph.streams if stream.calls):
        main = stream.scope == root.scope
        blocks = declared if main else agents.get(stream.scope.rpartition("::sa:")[2], 0)
        first = next(other for other in graph.streams if other.scope == stream.scope).calls[0].request
        prefix = prompts[first][:blocks].tolist()
        if blocks and prompts[stream.calls[0].request][:blocks].tolist() == prefix:
            found |= {call.request: blocks for call in stream.calls}
    return found


def _declared_blocks(source: str | None, block_size: int) -> int:
    declared: dict[str, Any] = json.loads(source).get("declared", {}) if source else {}
    return math.ceil(((declared.get("tool_tokens") or 0) + (declared.get("system_tokens") or 0)) / block_size)
