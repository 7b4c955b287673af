"""Children whose start no call's result names: workflow agents, skills that run as agents, agents of unknown tools.

Such a child lived between a call of its parent and the request that carries the call's report, and nothing else of the
parent was open that could have started it. The report, a notification or a result, is then the evidence for both ends.
A workflow runs in stages: an agent of it that starts when earlier ones have ended waits for those, by time, since what
fed which is known to the client alone; the report waits for all that no later stage waited for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from corpus.graph import end_us
from corpus.session import Edge, Evidence, Request, ToolCall
from dagbuild.streams import Streams

_LAUNCHING: Final = frozenset({"agent", "other"})


@dataclass(frozen=True, slots=True)
class Launch:
    call: ToolCall
    report: Request
    evidence: Evidence


def find_launches(streams: Streams, unexplained: Iterable[int]) -> dict[int, Launch]:
    """By agent, for those of the unexplained ones that exactly one open call accounts for."""
    found = {}
    calls = [launch for call in streams.session.tool_calls if (launch := _launch(streams, call))]
    for agent in unexplained:
        able = [launch for launch in calls if _spans(streams, launch, agent)]
        if len(able) == 1:
            found[agent] = able[0]
    return found


def launch_edges(streams: Streams, launches: Mapping[int, Launch]) -> Iterator[Edge]:
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for agent, launch in launches.items():
        groups[launch.call.call].append(agent)
    for agents in groups.values():
        yield from _group_edges(streams, launches[agents[0]], agents)


def _group_edges(streams: Streams, launch: Launch, agents: list[int]) -> Iterator[Edge]:
    awaited: set[int] = set()
    for agent in agents:
        first = streams.by_agent[agent][0]
        stage = _stage_before(streams, first, [other for other in agents if other != agent])
        for other in stage:
            yield streams.link(_last(streams, other), first, "spawn", "timing")
        if not stage:
            yield streams.link(streams.session.requests[launch.call.emit], first, "spawn", launch.evidence)
        awaited.update(stage)
    for agent in agents:
        if agent not in awaited:
            yield streams.link(_last(streams, agent), launch.report, "join", launch.evidence)


def _stage_before(streams: Streams, first: Request, others: list[int]) -> list[int]:
    """Those that had ended, without those that another of them had waited for."""
    over = [other for other in others if streams.waits(_last(streams, other), first)]
    return [
        one
        for one in over
        if not any(streams.waits(_last(streams, one), streams.by_agent[later][0]) for later in over if later != one)
    ]


def _launch(streams: Streams, call: ToolCall) -> Launch | None:
    if call.spawned is not None or call.tool not in _LAUNCHING:
        return None
    if call.deliveries:
        last = call.deliveries[-1]
        return Launch(call, streams.session.requests[last.request], last.evidence)
    return None if call.result is None else Launch(call, streams.session.requests[call.result], "tool_result")


def _spans(streams: Streams, launch: Launch, agent: int) -> bool:
    emit, requests = streams.session.requests[launch.call.emit], streams.by_agent[agent]
    return (
        emit.agent == streams.parent(agent)
        and emit.request < requests[0].request
        and streams.waits(_last(streams, agent), launch.report)
    )


def _last(streams: Streams, agent: int) -> Request:
    return max(streams.by_agent[agent], key=lambda r: (end_us(r), r.request))
