"""Conversations that share a session only because they share blocks, as sessions of their own.

A format whose ids mean something in one session only can hold just one conversation with what it started in each. What
conversations share with each other is lost on the way, and so are waits between them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from corpus.blocks import Ids, encode_blocks, expand_blocks
from corpus.formats.trace_rows import agent_names
from corpus.session import Agent, Edge, Request, Session


def separate_conversations(session: Session) -> Iterator[Session]:
    """The session itself when it has one conversation; else one for each of its main agents, named after it."""
    roots = _roots(session.agents)
    if len(set(roots)) <= 1:
        yield session
        return
    names = agent_names(session)
    lists = expand_blocks([request.blocks for request in session.requests])
    families: dict[int, _Family] = {root: _Family() for root in roots}
    for agent, root in enumerate(roots):
        families[root].agents.append(agent)
    for request in session.requests:
        families[roots[request.agent]].requests.append(request)
    for edge in session.edges:
        root = roots[session.requests[edge.src].agent]
        if root == roots[session.requests[edge.dst].agent]:
            families[root].edges.append(edge)
    for root, family in families.items():
        yield _session(session, family, lists, names[root])


@dataclass(slots=True)
class _Family:
    agents: list[int] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)


def _session(session: Session, family: _Family, lists: Sequence[Ids], name: str) -> Session:
    agents = {old: new for new, old in enumerate(family.agents)}
    numbers = {request.request: number for number, request in enumerate(family.requests)}
    blocks = encode_blocks(lists[old] for old in numbers)
    first_us = family.requests[0].t_start_us if family.requests else 0
    return replace(
        session,
        agents=tuple(_agent(session.agents[old], agents) for old in agents),
        requests=tuple(
            replace(
                request,
                request=number,
                agent=agents[request.agent],
                t_start_us=request.t_start_us - first_us,
                t_end_us=None if request.t_end_us is None else request.t_end_us - first_us,
                blocks=blocks[number],
                segments=None,
            )
            for number, request in enumerate(family.requests)
        ),
        tool_calls=(),
        edges=tuple(replace(edge, src=numbers[edge.src], dst=numbers[edge.dst]) for edge in family.edges),
        source=json.dumps({"id": name}),
    )


def _roots(agents: Sequence[Agent]) -> list[int]:
    """For each agent the main agent at the top of its line; one whose parent is not known counts to the first."""
    roots = []
    for agent in agents:
        top = agent
        while top.parent is not None:
            top = agents[top.parent]
        roots.append(top.agent if top.kind == "main" else 0)
    return roots


def _agent(agent: Agent, numbers: dict[int, int]) -> Agent:
    return replace(agent, agent=numbers[agent.agent], parent=None if agent.parent is None else numbers[agent.parent])
