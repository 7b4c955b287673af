"""A linked session as plain JSON values, in the shape of `agentreel graph --json`.

Times in microseconds, null: unknown.
"""

from __future__ import annotations

from typing import Any

from corpus.session import Session


def graph_document(session: Session) -> dict[str, Any]:
    return {
        "session": session.label,
        "agents": [{"agent": a.agent, "parent": a.parent, "kind": a.kind} for a in session.agents],
        "requests": [
            {
                "req": r.request,
                "agent": r.agent,
                "purpose": r.purpose,
                "t_start_us": r.t_start_us,
                "t_end_us": r.t_end_us,
            }
            for r in session.requests
        ],
        "edges": [
            {
                "src": e.src,
                "dst": e.dst,
                "kind": e.kind,
                "delay_us": e.delay_us,
                "anchor": e.anchor,
                "evidence": e.evidence,
            }
            for e in session.edges
        ],
    }
