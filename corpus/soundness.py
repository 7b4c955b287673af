"""What must hold inside a session, whoever made it.

Both sides of a corpus use it: a writer that would write an unsound session has a bug, a reader that finds one has a
damaged or foreign file. Names are checked against the literal types of the records, so there is no second list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, get_args

from corpus.blocks import count_blocks
from corpus.exchange import AgentKind, End, Purpose
from corpus.session import (
    Agent,
    Anchor,
    EdgeKind,
    Evidence,
    Request,
    Role,
    Session,
    SourceDialect,
    SourceFormat,
    ToolClass,
)
from wire.api import Api

# Far above any model's context (2 ** 24 blocks of 64 tokens are a billion); stops a damaged run from filling memory.
MAX_BLOCKS: Final = 1 << 24

_FORMATS = frozenset(get_args(SourceFormat))
_DIALECTS = frozenset(get_args(SourceDialect))
_AGENT_KINDS, _PURPOSES, _APIS = frozenset(get_args(AgentKind)), frozenset(get_args(Purpose)), frozenset(get_args(Api))
_ENDS, _ROLES, _TOOLS = frozenset(get_args(End)), frozenset(get_args(Role)), frozenset(get_args(ToolClass))
_EDGE_KINDS, _ANCHORS = frozenset(get_args(EdgeKind)), frozenset(get_args(Anchor))
_EVIDENCE = frozenset(get_args(Evidence))


def find_flaw(session: Session) -> str | None:
    """The first thing wrong with the session, as "place: problem"; None for a sound one."""
    return next(_flaws(session), None)


def _flaws(session: Session) -> Iterator[str]:
    if session.block_size < 1:
        yield f"block_size: {session.block_size} is no size"
    if session.source_format not in _FORMATS or session.source_dialect not in _DIALECTS | {None}:
        yield f"source: {session.source_format} {session.source_dialect} is unknown"
    yield from _agent_flaws(session.agents)
    for number, request in enumerate(session.requests):
        for flaw in _request_flaws(request, number, session):
            yield f"request {number}: {flaw}"
    yield from _order_flaws(session.requests)
    yield from _segment_flaws(session.requests)
    yield from _call_flaws(session)
    yield from _edge_flaws(session)


def _agent_flaws(agents: Sequence[Agent]) -> Iterator[str]:
    for number, agent in enumerate(agents):
        if agent.agent != number:
            yield f"agent {number}: is numbered {agent.agent}"
        if agent.parent is not None and not 0 <= agent.parent < len(agents):
            yield f"agent {number}: parent {agent.parent} does not exist"
        elif _is_own_ancestor(number, agents):
            yield f"agent {number}: is its own ancestor"
        if agent.kind not in _AGENT_KINDS:
            yield f"agent {number}: kind {agent.kind!r} is unknown"


def _is_own_ancestor(number: int, agents: Sequence[Agent]) -> bool:
    seen: set[int] = set()
    current: int | None = number
    while current is not None and 0 <= current < len(agents):
        if current in seen:
            return True
        seen.add(current)
        current = agents[current].parent
    return False


def _request_flaws(request: Request, number: int, session: Session) -> Iterator[str]:
    if request.request != number:
        yield f"is numbered {request.request}"
    if not 0 <= request.agent < len(session.agents):
        yield f"agent {request.agent} does not exist"
    if not 0 <= request.model < len(session.models):
        yield f"model {request.model} does not exist"
    if request.purpose not in _PURPOSES or request.api not in _APIS or request.end not in _ENDS:
        yield f"{request.purpose!r}, {request.api!r} or {request.end!r} is unknown"
    if request.retry_of is not None and not (0 <= request.retry_of < number):
        yield f"retry_of {request.retry_of} is no earlier request"
    if request.input_tokens < 0 or (request.output_tokens or 0) < 0:
        yield "negative token count"
    if request.t_end_us is not None and request.t_end_us < request.t_start_us:
        yield "ends before it starts"
    if any(
        attempt.end not in _ENDS or min(attempt.lead_us, attempt.duration_us or 0) < 0 for attempt in request.attempts
    ):
        yield "an attempt of unknown end, after the request or of negative length"
    yield from _delta_flaws(request, number, session.requests)


def _delta_flaws(request: Request, number: int, requests: Sequence[Request]) -> Iterator[str]:
    blocks, segments = request.blocks, request.segments
    if not -1 <= blocks.base < number:
        yield f"base {blocks.base} is no earlier request"
        return
    base = requests[blocks.base] if blocks.base >= 0 else None
    if not 0 <= blocks.keep <= (count_blocks(base.blocks) if base else 0):
        yield f"keeps {blocks.keep} blocks, more than request {blocks.base} has"
    if len(blocks.run_start) != len(blocks.run_len) or any(length < 1 for length in blocks.run_len):
        yield "block runs without a start or length"
    if count_blocks(blocks) > MAX_BLOCKS or any(start < 0 for start in blocks.run_start):
        yield "block ids or counts out of range"
    if segments is None:
        return
    if len(segments.roles) != len(segments.tokens) or any(tokens < 0 for tokens in segments.tokens):
        yield "segments without a role or size"
    if not _ROLES.issuperset(segments.roles):
        yield "segment of an unknown role"
    if segments.keep < 0 or (segments.keep and (base is None or base.segments is None)):
        yield f"keeps {segments.keep} segments of a request without any"


def _order_flaws(requests: Sequence[Request]) -> Iterator[str]:
    order = [(request.t_start_us, request.agent, request.position) for request in requests]
    for number in range(1, len(order)):
        if order[number] < order[number - 1]:
            yield f"request {number}: out of order; requests are sorted by start, agent, position"
            return


def _segment_flaws(requests: Sequence[Request]) -> Iterator[str]:
    lengths: list[int] = []
    for number, request in enumerate(requests):
        segments, base = request.segments, request.blocks.base
        if segments and segments.keep > (lengths[base] if base >= 0 else 0):
            yield f"request {number}: keeps {segments.keep} segments, more than request {base} has"
            return
        lengths.append(segments.keep + len(segments.roles) if segments else 0)


def _call_flaws(session: Session) -> Iterator[str]:
    requests, agents = range(len(session.requests)), range(len(session.agents))
    for number, call in enumerate(session.tool_calls):
        ends = [call.emit, *(delivery.request for delivery in call.deliveries)]
        ends += [] if call.result is None else [call.result]
        if call.call != number or call.tool not in _TOOLS:
            yield f"tool call {number}: is numbered {call.call}, tool {call.tool!r}"
        if any(end not in requests for end in ends):
            yield f"tool call {number}: refers to a request that does not exist"
        if call.spawned is not None and call.spawned not in agents:
            yield f"tool call {number}: agent {call.spawned} does not exist"
        if not _EVIDENCE.issuperset(delivery.evidence for delivery in call.deliveries):
            yield f"tool call {number}: evidence is unknown"


def _edge_flaws(session: Session) -> Iterator[str]:
    requests = range(len(session.requests))
    for number, edge in enumerate(session.edges):
        if edge.src not in requests or edge.dst not in requests or edge.src == edge.dst:
            yield f"edge {number}: {edge.src} to {edge.dst} does not join two requests"
        if edge.kind not in _EDGE_KINDS or edge.anchor not in _ANCHORS or edge.evidence not in _EVIDENCE:
            yield f"edge {number}: {edge.kind!r}, {edge.anchor!r} or {edge.evidence!r} is unknown"
