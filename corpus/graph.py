"""Walks over a session's graph: requests are nodes, edges say what had to happen before.

Only order and arithmetic live here; which edges exist is decided in `dagbuild`.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from corpus.session import Edge, Request


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """The chain of requests that took longest, and how long: its requests and the recorded delays between them."""

    requests: tuple[int, ...]
    duration_us: int


def predecessors(n: int, edges: Iterable[Edge]) -> list[list[Edge]]:
    """The edges into each of `n` requests, in the given order."""
    into: list[list[Edge]] = [[] for _ in range(n)]
    for edge in edges:
        into[edge.dst].append(edge)
    return into


def topological_order(n: int, edges: Iterable[Edge]) -> list[int]:
    """All requests, sources before destinations, the smallest number first where free; ValueError on a cycle."""
    waiting = [0] * n
    out: list[list[int]] = [[] for _ in range(n)]
    for edge in edges:
        waiting[edge.dst] += 1
        out[edge.src].append(edge.dst)
    ready = [request for request in range(n) if waiting[request] == 0]
    order: list[int] = []
    while ready:
        request = heapq.heappop(ready)
        order.append(request)
        for follower in out[request]:
            waiting[follower] -= 1
            if waiting[follower] == 0:
                heapq.heappush(ready, follower)
    if len(order) < n:
        stuck = min(request for request in range(n) if waiting[request] > 0)
        raise ValueError(f"the edges form a cycle; request {stuck} is on it or behind it")
    return order


def streams_of(n: int, edges: Iterable[Edge]) -> list[int]:
    """The stream of each of `n` requests, named by its first request.

    A stream is what sequence and retry edges tie together: one context that goes on, be it an agent's own conversation,
    a fork beside it or a call apart. Spawns, joins and asides lead from one stream to another.
    """
    first = list(range(n))

    def root(request: int) -> int:
        while first[request] != request:
            first[request] = first[first[request]]
            request = first[request]
        return request

    for edge in edges:
        if edge.kind in ("sequence", "retry"):
            one, other = root(edge.src), root(edge.dst)
            first[max(one, other)] = min(one, other)
    return [root(request) for request in range(n)]


def end_us(request: Request) -> int:
    """When the request ended; its start where the end is unknown, so sums over it are lower bounds."""
    return request.t_start_us if request.t_end_us is None else request.t_end_us


def task_time_us(requests: Iterable[Request]) -> int:
    """From the first start to the last end; 0 without requests."""
    walked = list(requests)
    if not walked:
        return 0
    return max(map(end_us, walked)) - min(request.t_start_us for request in walked)


def critical_path(requests: Sequence[Request], edges: Sequence[Edge]) -> CriticalPath:
    """The longest chain, counted from the start of its first request to the end of its last.

    Of equally long ways to a request the one that leaves the shortest delay wins: with recorded delays every way from
    the first request is as long, and what was waited for last is what the request waited for. An edge adds the
    source's own duration (anchor "end") or none of it (anchor "start"), then its delay. Delays are as recorded, so idle
    and tool time count. ValueError on a cycle.
    """
    into = predecessors(len(requests), edges)
    start = [0] * len(requests)
    before: list[int | None] = [None] * len(requests)
    for request in topological_order(len(requests), edges):
        ways = [(start[e.src] + _reach_us(requests[e.src], e), -e.delay_us, e.src) for e in into[request]]
        if ways:
            start[request], _, before[request] = max(ways)
    if not requests:
        return CriticalPath((), 0)
    last = max(range(len(requests)), key=lambda i: (start[i] + _duration_us(requests[i]), -i))
    return CriticalPath(_walk_back(last, before), start[last] + _duration_us(requests[last]))


def _duration_us(request: Request) -> int:
    return end_us(request) - request.t_start_us


def _reach_us(source: Request, edge: Edge) -> int:
    return edge.delay_us + (_duration_us(source) if edge.anchor == "end" else 0)


def _walk_back(last: int, before: Sequence[int | None]) -> tuple[int, ...]:
    path = [last]
    while (previous := before[path[-1]]) is not None:
        path.append(previous)
    return tuple(reversed(path))
