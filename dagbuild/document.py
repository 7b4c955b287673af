"""A linked session as plain JSON values, in the shape of `agentreel graph --json`.

Times in microseconds, null: unknown. The edges are the session's own; streams and causes follow from its requests.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from corpus.graph import critical_path, task_time_us
from corpus.session import Edge, Request, Session
from dagbuild.causes import Cause, gap_causes, retried_us
from dagbuild.streams import Stream, split_streams


def graph_document(session: Session) -> dict[str, Any]:
    """ValueError when the session's edges form a cycle, which no linked session's do."""
    streams = _streams(session)
    stream_of = {step.request: number for number, stream in enumerate(streams) for step in stream.requests}
    longest = critical_path(session.requests, session.edges)
    return {
        "session": session.label,
        "agents": [{"agent": a.agent, "parent": a.parent, "kind": a.kind} for a in session.agents],
        "streams": [
            {"stream": n, "agent": s.agent, "kind": s.kind, "fork_of": s.fork_of} for n, s in enumerate(streams)
        ],
        "requests": [_request(request, stream_of.get(request.request)) for request in session.requests],
        "edges": [_edge(session, edge, cause) for edge, cause in zip(session.edges, gap_causes(session), strict=True)],
        "task_time_us": task_time_us(session.requests),
        "critical_path": {"requests": list(longest.requests), "duration_us": longest.duration_us},
    }


def _streams(session: Session) -> list[Stream]:
    """Each agent's own conversation, then those beside."""
    split = split_streams(session)
    own = [Stream(agent, "own", steps, None) for agent, steps in split.by_agent.items() if steps]
    return own + split.beside


def _request(request: Request, stream: int | None) -> dict[str, Any]:
    return {
        "req": request.request,
        "agent": request.agent,
        "stream": stream,
        "purpose": request.purpose,
        "t_start_us": request.t_start_us,
        "t_end_us": request.t_end_us,
        "end": request.end,
        "attempts": [asdict(attempt) for attempt in request.attempts],
    }


def _edge(session: Session, edge: Edge, cause: Cause | None) -> dict[str, Any]:
    return {
        "src": edge.src,
        "dst": edge.dst,
        "kind": edge.kind,
        "delay_us": edge.delay_us,
        "anchor": edge.anchor,
        "evidence": edge.evidence,
        "cause": cause,
        "retried_us": retried_us(edge, session.requests[edge.dst]),
    }
