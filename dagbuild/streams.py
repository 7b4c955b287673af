"""A session as streams: per agent its own conversation in order of start, others beside it, and the asides apart.

    stream     under an agent's id ...
    own        its conversation
    fork       one that begins with a prompt of it
    worker     one of three or more forks off the same step that ran beside each other
    found      one that shares nothing with it
    one_off    a single request of an imported trace that looks like a call beside the conversation (`one_offs`)

Every rule of this room only ever links a request to one with a larger number (requests are numbered by start), which is
why no graph built here can have a cycle.

An unknown end counts as the start: the request takes no time in every comparison, and delays after it include its
unknown duration. Nothing better is known, and the reference harness does the same.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from corpus.graph import end_us
from corpus.purpose import PARTS, Part
from corpus.session import Agent, Edge, EdgeKind, Evidence, Request, Session
from dagbuild.chains import Chain, split_chains
from dagbuild.fan_out import WORKERS, overlapping
from dagbuild.one_offs import looks_like_one_off
from dagbuild.prefixes import Prefixes

# Sources whose clock is coarser than a request's duration: an overlap of up to one tick is rounding, not concurrency
# (kv-cache-tester files state whole seconds).
_TICK_US: Final[dict[str | None, int]] = {"kv-cache-tester": 1_000_000}


StreamKind = Literal["own", "fork", "worker", "found", "one_off"]


@dataclass(frozen=True, slots=True)
class Aside:
    request: Request
    serves: int  # agent
    returns: bool


@dataclass(frozen=True, slots=True)
class Stream:
    """A conversation of an agent. `fork_of`: the request whose prompt it begins with."""

    agent: int
    kind: StreamKind
    requests: list[Request]
    fork_of: int | None


@dataclass(frozen=True, slots=True)
class Streams:
    session: Session
    by_agent: dict[int, list[Request]]  # steps of the agent's own conversation
    beside: list[Stream]
    asides: list[Aside]
    tick_us: int
    prefixes: Prefixes = field(repr=False)

    def parent(self, agent: int) -> int:
        """The agent that a child reports to; main where the source does not say."""
        found = self.session.agents[agent].parent
        return 0 if found is None else found

    def link(self, src: Request, dst: Request, kind: EdgeKind, evidence: Evidence) -> Edge:
        """An edge anchored at the end of `src`, or at its start when `dst` did not wait for the end."""
        gap = dst.t_start_us - end_us(src)
        if gap >= -self.tick_us:
            return Edge(src.request, dst.request, kind, max(0, gap), "end", evidence)
        return Edge(src.request, dst.request, kind, dst.t_start_us - src.t_start_us, "start", evidence)

    def waits(self, src: Request, dst: Request) -> bool:
        """Whether `dst` started only after `src` had ended, as far as the source's clock can tell."""
        return src.request < dst.request and dst.t_start_us - end_us(src) >= -self.tick_us


def split_streams(session: Session) -> Streams:
    steps: dict[int, list[Request]] = {agent.agent: [] for agent in session.agents}
    asides = []
    for request in session.requests:
        agent = session.agents[request.agent]
        part = _part(request, agent)
        if part == "stream":
            steps[request.agent].append(request)
        else:
            asides.append(Aside(request, _served(agent), returns=part == "returns"))
    heard, tick_us = session.source_format == "capture", _TICK_US.get(session.source_dialect, 0)
    prefixes = Prefixes(session.requests)
    chains = {a: split_chains(found, prefixes, heard=heard, tick_us=tick_us) for a, found in steps.items()}
    beside = [stream for agent, found in chains.items() for stream in _beside(agent, found, heard=heard)]
    own = {agent: found[0].requests for agent, found in chains.items()}
    return Streams(session, own, beside, asides, tick_us, prefixes)


def _beside(agent: int, chains: Sequence[Chain], *, heard: bool) -> list[Stream]:
    own, *others = chains
    forks: dict[int, list[Chain]] = {}
    for chain in others:
        if chain.fork_of is not None:
            forks.setdefault(chain.fork_of.request, []).append(chain)
    runs = [run for siblings in forks.values() for run in overlapping(map(_span, siblings))]
    workers = [chain for run in runs if len(run) >= WORKERS for chain in run]
    return [
        Stream(
            agent=agent,
            kind="one_off" if not heard and _is_one_off(chain, own) else "worker" if chain in workers else _kind(chain),
            requests=chain.requests,
            fork_of=None if chain.fork_of is None else chain.fork_of.request,
        )
        for chain in others
    ]


def _is_one_off(chain: Chain, own: Chain) -> bool:
    only, peak = chain.requests[0], max(step.input_tokens for step in own.requests)
    models = {step.model for step in own.requests}
    return len(chain.requests) == 1 and (only.model not in models or looks_like_one_off(only, peak))


def _kind(chain: Chain) -> StreamKind:
    return "found" if chain.fork_of is None else "fork"


def _span(chain: Chain) -> tuple[float, float, Chain]:
    return chain.requests[0].t_start_us, max(map(end_us, chain.requests)), chain


def last_ended(requests: Sequence[Request], before: Request) -> Request | None:
    """The request with the latest end among those that were over when `before` started."""
    over = [r for r in requests if r.request < before.request and end_us(r) <= before.t_start_us]
    return max(over, key=lambda r: (end_us(r), r.request), default=None)


def most_recent(requests: Sequence[Request], before: Request) -> Request | None:
    index = bisect_left(requests, before.request, key=_number)
    return requests[index - 1] if index else None


def first_after(requests: Sequence[Request], src: Request) -> Request | None:
    """The first request that starts at or after the end of `src`."""
    later = requests[bisect_right(requests, src.request, key=_number) :]
    return next((r for r in later if r.t_start_us >= end_us(src)), None)


def _number(request: Request) -> int:
    return request.request


def _part(request: Request, agent: Agent) -> Part:
    # A hook with a conversation of its own is a child like any other.
    return "stream" if agent.kind == "hook" else PARTS[request.purpose]


def _served(agent: Agent) -> int:
    if agent.kind == "side":
        return 0 if agent.parent is None else agent.parent
    return agent.agent
