"""Edges between agents: who started a child, and who waited for it.

A child's stream falls into episodes: the requests from one task given to it up to the next. Calls heard in the capture
open episodes; a child that no call names has one episode, opened by a launch (`launches`), else by time. Every episode
is joined by what was heard of it, and by time only when nothing was: an episode that no request of the parent follows
is never joined.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from corpus.graph import end_us
from corpus.session import Edge, Evidence, Request, ToolCall
from dagbuild.launches import find_launches, launch_edges
from dagbuild.streams import Streams, first_after, last_ended, most_recent


@dataclass(slots=True)
class Episode:
    requests: list[Request]
    parent: int
    calls: list[ToolCall] = field(default_factory=list)  # that opened it
    joined: bool = False


def child_edges(streams: Streams) -> Iterator[Edge]:
    calls: dict[int, list[ToolCall]] = defaultdict(list)
    for call in sorted(streams.session.tool_calls, key=lambda call: (call.emit, call.call)):
        if call.spawned is not None:
            calls[call.spawned].append(call)
    children = [agent for agent, requests in streams.by_agent.items() if agent != 0 and requests]
    launches = find_launches(streams, [agent for agent in children if agent not in calls])
    yield from launch_edges(streams, launches)
    for agent in children:
        if agent not in launches:
            episodes, spawns = _open_episodes(streams, agent, calls[agent])
            yield from spawns
            yield from _heard_joins(streams, agent, episodes, calls[agent])
            yield from _timed_joins(streams, episodes)


def _open_episodes(streams: Streams, agent: int, calls: list[ToolCall]) -> tuple[list[Episode], list[Edge]]:
    child = streams.by_agent[agent]
    opened: dict[int, list[ToolCall]] = {child[0].request: []}
    spawns = []
    for number, call in enumerate(calls):
        emit = streams.session.requests[call.emit]
        dst = child[0] if number == 0 and child[0].request > call.emit else first_after(child, emit)
        if dst is not None:
            opened.setdefault(dst.request, []).append(call)
            spawns.append(streams.link(emit, dst, "spawn", _call_evidence(number, call)))
    if not opened[child[0].request] and (edge := _timed_spawn(streams, agent)):
        spawns.append(edge)
    starts = [index for index, request in enumerate(child) if request.request in opened]
    episodes = []
    for start, stop in zip(starts, [*starts[1:], len(child)], strict=True):
        by = opened[child[start].request]
        parent = streams.session.requests[by[0].emit].agent if by else streams.parent(agent)
        episodes.append(Episode(child[start:stop], parent, by))
    return episodes, spawns


def _call_evidence(number: int, call: ToolCall) -> Evidence:
    """The first call learns the child's id from its result; later ones name a child that is known already."""
    return "tool_result" if number == 0 and call.result is not None else "id"


def _timed_spawn(streams: Streams, agent: int) -> Edge | None:
    first = streams.by_agent[agent][0]
    src = most_recent(streams.by_agent[streams.parent(agent)], first)
    if src is None:
        return None
    return streams.link(src, first, "spawn", "fork" if streams.session.agents[agent].kind == "fork" else "timing")


def _heard_joins(streams: Streams, agent: int, episodes: list[Episode], calls: list[ToolCall]) -> Iterator[Edge]:
    for call in calls:
        for delivery in call.deliveries:
            dst = streams.session.requests[delivery.request]
            src = last_ended(streams.by_agent[agent], dst)
            if src is not None:
                next(e for e in episodes if src in e.requests).joined = True
                yield streams.link(src, dst, "join", delivery.evidence)
    for episode in episodes:
        for call in episode.calls:
            if call.result is None or call.deliveries:  # a report by another way: the result only acknowledged
                continue
            dst = streams.session.requests[call.result]
            over = [r for r in episode.requests if r.request < dst.request and end_us(r) <= dst.t_start_us]
            if len(over) == len(episode.requests):
                episode.joined = True
                yield streams.link(_last(over), dst, "join", "tool_result")


def _timed_joins(streams: Streams, episodes: list[Episode]) -> Iterator[Edge]:
    for episode in episodes:
        last = _last(episode.requests)
        dst = first_after(streams.by_agent[episode.parent], last)
        if not episode.joined and dst is not None:
            yield streams.link(last, dst, "join", "timing")


def _last(requests: list[Request]) -> Request:
    return max(requests, key=lambda r: (end_us(r), r.request))
