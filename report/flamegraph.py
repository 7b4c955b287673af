"""How a session's context grows and how much of it a cache could serve: a row a turn, agents folded where they began.

What of a prompt repeats an earlier prompt of the session counts as cached: the most that a cache can serve inside it,
not what a provider did serve. Columns go by request number.
"""

from __future__ import annotations

from typing import Any

from corpus.session import Session
from report.agent_tree import agent_tree
from report.lineage import cached_tokens


def draw_flamegraph(session: Session) -> dict[str, Any]:
    """`order` lists the rows from the top: a request of the main agent, or ~n for group n of another agent."""
    cached = cached_tokens(session)
    groups = [
        (depth, agent, [r.request for r in session.requests if r.agent == agent])
        for depth, agent in agent_tree([agent.parent for agent in session.agents])
        if agent
    ]
    starts = [(r.t_start_us, r.request) for r in session.requests if r.agent == 0]
    starts += [
        (session.requests[members[0]].t_start_us, ~number) for number, (_, _, members) in enumerate(groups) if members
    ]
    unknown = sum(r.output_tokens is None for r in session.requests)
    return {
        "cached": cached,
        "fresh": [r.input_tokens - hit for r, hit in zip(session.requests, cached, strict=True)],
        "output": [r.output_tokens for r in session.requests],
        "groups": [[f"{session.agents[agent].kind} {agent}", depth, members] for depth, agent, members in groups],
        "order": [row for _, row in sorted(starts, key=lambda start: (start[0], start[1] < 0, abs(start[1])))],
        "note": f"Answers of unknown length, drawn without one: {unknown}." if unknown else "",
    }
