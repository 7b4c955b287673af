"""A session as streams: per agent the requests of its conversation in order of start, and the asides apart.

Every rule of this room only ever links a request to one with a larger number (requests are numbered by start), which is
why no graph built here can have a cycle.

An unknown end counts as the start: the request takes no time in every comparison, and delays after it include its
unknown duration. Nothing better is known, and the reference harness does the same.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from corpus.graph import end_us
from corpus.purpose import PARTS, Part
from corpus.session import Agent, Edge, EdgeKind, Evidence, Request, Session

# Sources whose clock is coarser than a request's duration: an overlap of up to one tick is rounding, not concurrency
# (kv-cache-tester files state whole seconds).
_TICK_US: Final[dict[str | None, int]] = {"kv-cache-tester": 1_000_000}


@dataclass(frozen=True, slots=True)
class Aside:
    request: Request
    serves: int  # agent
    returns: bool


@dataclass(frozen=True, slots=True)
class Streams:
    session: Session
    by_agent: dict[int, list[Request]]  # only requests that are steps of a conversation
    asides: list[Aside]
    tick_us: int

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
    by_agent: dict[int, list[Request]] = {agent.agent: [] for agent in session.agents}
    asides = []
    for request in session.requests:
        agent = session.agents[request.agent]
        part = _part(request, agent)
        if part == "stream":
            by_agent[request.agent].append(request)
        else:
            asides.append(Aside(request, _served(agent), returns=part == "returns"))
    return Streams(session, by_agent, asides, _TICK_US.get(session.source_dialect, 0))


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
