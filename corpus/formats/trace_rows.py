"""What the formats with one request a row have in common: which requests go out, and when they start.

A request goes out when it was answered and generated something; the others are dropped as `corpus.dropping` drops, so
whoever waited for them still comes when it came. Sessions have no common clock unless they were imported with one, so
all of a corpus start at 0.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from corpus.dropping import drop_requests
from corpus.exchange import Purpose
from corpus.purpose import STEPS
from corpus.session import Request, Session

_GENERATES_NOTHING: Final[frozenset[Purpose]] = frozenset({"count_tokens", "prewarm", "probe"})


@dataclass(frozen=True, slots=True)
class Written:
    """What was written, and what the format has no place for."""

    sessions: int
    requests: int
    left_out_sessions: int  # nothing in them generated anything
    left_out_requests: int  # failed, or generating nothing; those of left out sessions included


class Tally:
    """Counts while sessions are written."""

    def __init__(self) -> None:
        self.sessions = self.requests = self.empty = self.dropped = 0

    def add(self, total: int, kept: int) -> None:
        self.dropped += total - kept
        self.requests += kept
        self.sessions += kept > 0
        self.empty += kept == 0

    def written(self) -> Written:
        return Written(self.sessions, self.requests, self.empty, self.dropped)


def is_answered(request: Request) -> bool:
    """Whether it went well and generated something, as trace formats take for granted."""
    answered = request.end == "complete" and (request.status is None or 200 <= request.status < 300)
    return answered and request.purpose not in _GENERATES_NOTHING


def answered_part(session: Session, *, besides: Collection[int] = ()) -> Session:
    """The session without what a trace has no place for, and without `besides`; empty prompts among the former."""
    gone = {r.request for r in session.requests if not is_answered(r) or not r.input_tokens}
    return drop_requests(session, gone | set(besides))


def output_tokens(request: Request) -> int:
    """Traces know no "unknown"; the provider's count stands in, else 0."""
    if request.output_tokens is not None:
        return request.output_tokens
    return (request.usage.output_tokens or 0) if request.usage else 0


def asked_tokens(request: Request) -> int:
    """What a consumer is to ask a server for: no server answers with less than one token."""
    return max(1, output_tokens(request))


def imported(session: Session) -> dict[str, Any]:
    """What an import with a clock of its own says about itself; empty for anything else."""
    told: dict[str, Any] = json.loads(session.source) if session.source else {}
    return told if "t0_us" in told else {}


def is_whole(session: Session) -> bool:
    """Whether an import still has all rows it came with, so that they can be given back as they were."""
    return imported(session).get("rows") == len(session.requests)


def agent_names(session: Session) -> list[str]:
    """A conversation's name for each agent: its own in an import, else the session's with the way down to the agent."""
    names = []
    for agent in session.agents:
        declared = json.loads(agent.source) if agent.source else {}
        if imported(session) and isinstance(declared.get("id"), str):
            names.append(declared["id"])
        else:
            names.append(session.label if agent.agent == 0 else f"{session.label}::agent_{agent.agent:03d}")
    return names


def conversations(session: Session) -> Iterator[tuple[str, list[Request]]]:
    """Per agent its steps, and every aside by itself: nothing after it goes on from it."""
    names = agent_names(session)
    steps: list[list[Request]] = [[] for _ in session.agents]
    for request in session.requests:
        if request.purpose in STEPS:
            steps[request.agent].append(request)
    for agent, requests in enumerate(steps):
        if requests:
            yield names[agent], requests
    for request in session.requests:
        if request.purpose not in STEPS:
            yield f"{names[request.agent]}::aside_{request.position:04d}", [request]


class Prompt(NamedTuple):
    """A prompt as a consumer that accumulates counts it: with all answers so far and what was added."""

    request: Request
    tokens: int


def added_tokens(before: Prompt, request: Request, lists: Sequence[Sequence[int]], size: int) -> int | None:
    """What a turn adds for such a consumer; None where its prompt does not go on from the one before.

    It goes on when it begins with all whole blocks of that one. Where an answer did not come back whole, the consumer
    is ahead of the recording: a turn then adds one token, until it is an eighth ahead, which is too much to go on.
    """
    ids, old = lists[request.request], lists[before.request.request]
    whole = min(before.request.input_tokens // size, len(old))
    reached = before.tokens + asked_tokens(before.request)
    if list(ids[:whole]) != list(old[:whole]) or reached > request.input_tokens * 9 // 8:
        return None
    return max(1, request.input_tokens - reached)
