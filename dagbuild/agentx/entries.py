"""A session in the reference's terms: requests and groups in file order, times in seconds.

Times are doubles of seconds as in the file, because the reference compares doubles: two requests that touch to the
microsecond may or may not overlap there, and only the same arithmetic gives the same answer. A request inside a group
whose time is smaller than the group's counts from the group; the reference decides that request by request.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from corpus.formats.weka_reader import session_from_weka
from corpus.formats.weka_writer import session_to_weka
from corpus.session import Agent, Request, Session

EPSILON_S: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Call:
    """One request. `place`: its index among the entries of the file, or of its group."""

    request: int
    place: int
    start_s: float
    api_s: float | None
    model: int
    blocks: int
    input_tokens: int
    output_tokens: int

    @property
    def end_s(self) -> float:
        return self.start_s + (self.api_s or 0.0)


@dataclass(frozen=True, slots=True)
class Group:
    """A declared sub-agent."""

    agent_id: str
    place: int
    start_s: float
    end_s: float
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Entries:
    session: Session
    calls: tuple[Call, ...]
    groups: tuple[Group, ...]


def entries_of(session: Session, counts: list[int]) -> Entries:
    """`counts`: blocks of each request."""
    inner: dict[int, list[Request]] = {agent.agent: [] for agent in session.agents}
    for request in sorted(session.requests, key=lambda request: request.position):
        inner[request.agent].append(request)
    declared = {agent.agent: _declared(agent) for agent in session.agents if agent.source is not None}
    positions = sorted([*(r.position for r in inner[0]), *(found["position"] for found in declared.values())])
    place = {position: number for number, position in enumerate(positions)}
    calls = tuple(_call(r, place[r.position], r.t_start_us / 1e6, counts) for r in inner[0])
    groups = [_group(found, place[found["position"]], inner[agent], counts) for agent, found in declared.items()]
    return Entries(session, calls, tuple(sorted(groups, key=lambda group: group.place)))


def as_imported(session: Session) -> Session:
    """The session as a reader of its WEKA export sees it; an import is one already."""
    if session.source_format == "weka":
        return session
    return session_from_weka(session_to_weka(session), session.label, session.session)


def _declared(agent: Agent) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(agent.source or "{}")
    return found


def _group(found: dict[str, Any], place: int, requests: list[Request], counts: list[int]) -> Group:
    declared, start_s = found["declared"], float(found["declared"]["t"])
    calls = []
    for number, request in enumerate(requests):
        inner_s = (request.t_start_us - found["offset_us"]) / 1e6
        at_s = start_s + inner_s if inner_s + EPSILON_S < start_s else inner_s
        calls.append(_call(request, number, at_s, counts))
    duration_ms = declared.get("duration_ms")
    if duration_ms is None:
        end_s = max((call.end_s for call in calls), default=start_s)
    else:
        end_s = start_s + duration_ms / 1000.0
    return Group(declared["agent_id"], place, start_s, end_s, tuple(calls))


def _call(request: Request, place: int, start_s: float, counts: list[int]) -> Call:
    return Call(
        request=request.request,
        place=place,
        start_s=start_s,
        api_s=None if request.recorded_api_us is None else request.recorded_api_us / 1e6,
        model=request.model,
        blocks=counts[request.request],
        input_tokens=request.input_tokens,
        output_tokens=request.output_tokens or 0,
    )
