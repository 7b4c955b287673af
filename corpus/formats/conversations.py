"""Rows of a trace with file-wide ids, as sessions.

A session has one clock and one space of block ids. Rows make a session together when they are of one conversation,
wait for each other or share a block, directly or through others: split, they would lose what they share. Each
conversation is an agent. Rows that name no conversation are one session, each an agent of its own: they come when the
clock says and wait for nobody.

A row's start counts from the session's first; `t0_us` in `Session.source` says when that was on the file's clock. Where
a row does not say how long its answer took, the end is unknown and waits count from the start. What a row says beyond
these fields is a patch (`corpus.formats.patch`) by the row's number.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from corpus.blocks import encode_blocks
from corpus.errors import InputError
from corpus.exchange import AgentKind
from corpus.formats.fields import CORRECT
from corpus.formats.patch import Object
from corpus.graph import topological_order
from corpus.session import Agent, Anchor, Edge, EdgeKind, Evidence, Request, Session, SourceDialect, SourceFormat

UNNAMED_MODEL: Final = "other"


class Wait(NamedTuple):
    row: int
    delay_us: int
    anchor: Anchor = "end"
    kind: EdgeKind | None = None  # None: follows from whose rows they are
    evidence: Evidence = "id"


class Row(NamedTuple):
    row: int  # running number in the file
    conversation: str | None
    start_us: int  # on the file's clock
    input_tokens: int
    output_tokens: int | None
    ids: Sequence[int]
    waits: tuple[Wait, ...] = ()
    patch: Object | None = None
    kinds: tuple[str, ...] = ()
    model: str = UNNAMED_MODEL
    api_us: int | None = None  # how long the answer took


@dataclass(frozen=True, slots=True)
class Source:
    """What all rows of a file have in common."""

    format: SourceFormat
    dialect: SourceDialect | None
    block_size: int
    where: str  # the file, for complaints
    name: str  # of the session that is the whole file


def sessions_of_rows(rows: Sequence[Row], source: Source) -> Iterator[Session]:
    """Sessions numbered from 0 in order of their first rows; waits for rows that are not there are left out.

    InputError when rows wait for each other in a circle.
    """
    groups = _groups(rows)
    names: set[str] = set()
    for number, group in enumerate(groups):
        label = source.name if len(groups) == 1 or group[0].conversation is None else group[0].conversation
        while label in names:
            label += "+"
        names.add(label)
        yield session_of_rows(group, source, number, label)


def _groups(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows that hang together, each group and all groups in file order."""
    above: dict[object, object] = {}

    def root(key: object) -> object:
        while (parent := above.setdefault(key, key)) != key:
            above[key] = above[parent]
            key = above[parent]
        return key

    keys = {row.row: row.conversation for row in rows}
    owners: dict[int, object] = {}  # of blocks
    for row in rows:
        others: set[object] = {keys[wait.row] for wait in row.waits if wait.row in keys}
        others.update(owners.setdefault(block, row.conversation) for block in row.ids)
        for other in others:
            above[root(row.conversation)] = root(other)
    grouped: dict[object, list[Row]] = defaultdict(list)
    for row in rows:
        grouped[root(row.conversation)].append(row)
    return list(grouped.values())


def session_of_rows(rows: Sequence[Row], source: Source, number: int, label: str) -> Session:
    """All these rows as one session; InputError when they wait for each other in a circle."""
    session = _session(rows, source, number, label)
    try:
        topological_order(len(session.requests), session.edges)
    except ValueError as error:
        raise InputError(source.where, f"rows wait for each other in a circle ({error})", CORRECT) from error
    return session


def _session(rows: Sequence[Row], source: Source, number: int, label: str) -> Session:
    t0_us = min(row.start_us for row in rows)
    agents = _agents(rows)
    placed = sorted(rows, key=lambda row: (row.start_us, agents[_key(row)].agent, row.row))
    numbers = {row.row: request for request, row in enumerate(placed)}
    blocks = encode_blocks(row.ids for row in placed)
    models = {name: model for model, name in enumerate(dict.fromkeys(row.model for row in placed))}
    requests = tuple(
        replace(
            _request(row, request, agents[_key(row)].agent, t0_us, blocks[request]),
            model=models[row.model],
        )
        for request, row in enumerate(placed)
    )
    told = {
        "id": label,
        "t0_us": t0_us,
        "rows": len(rows),
        "patches": {str(row.row): row.patch for row in rows if row.patch},
    }
    return Session(
        session=number,
        source_format=source.format,
        source_dialect=source.dialect,
        harness=None,
        harness_version=(),
        block_size=source.block_size,
        models=tuple(models),
        agents=tuple(agents.values()),
        requests=requests,
        edges=tuple(_edges(placed, requests, tuple(agents.values()), numbers)),
        source=json.dumps(told, separators=(",", ":")),
    )


def _key(row: Row) -> object:
    return row.row if row.conversation is None else row.conversation


def _agents(rows: Sequence[Row]) -> dict[object, Agent]:
    """By conversation, those without a parent first; the parent is who the first row waits for."""
    keys = {row.row: _key(row) for row in rows}
    firsts: dict[object, Row] = {}
    for row in sorted(rows, key=lambda row: (row.start_us, row.row)):
        firsts.setdefault(_key(row), row)
    parents: dict[object, object] = {}
    for key, row in firsts.items():
        parents[key] = next((keys[wait.row] for wait in row.waits if keys.get(wait.row) in parents), None)
    order = sorted(firsts, key=lambda key: parents[key] is not None)
    numbers = {key: number for number, key in enumerate(order)}
    return {key: _agent(key, numbers, parents) for key in order}


def _agent(key: object, numbers: Mapping[object, int], parents: Mapping[object, object]) -> Agent:
    parent = parents[key]
    kind: AgentKind = "main" if parent is None else "subagent"
    named = json.dumps({"id": key}) if isinstance(key, str) else None
    return Agent(numbers[key], None if parent is None else numbers[parent], kind, named)


def _request(row: Row, number: int, agent: int, t0_us: int, blocks: Any) -> Request:
    return Request(
        request=number,
        agent=agent,
        position=row.row,
        purpose="turn",
        api="openai-chat",
        stream=None,
        model=0,
        t_start_us=row.start_us - t0_us,
        t_first_us=None,
        t_end_us=None if row.api_us is None else row.start_us - t0_us + row.api_us,
        end="complete",
        status=None,
        retry_of=None,
        stop="",
        input_kinds=row.kinds,
        output_kinds=(),
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        usage=None,
        blocks=blocks,
        segments=None,
    )


def _edges(
    rows: Sequence[Row], requests: Sequence[Request], agents: Sequence[Agent], numbers: Mapping[int, int]
) -> Iterator[Edge]:
    begun: set[int] = set()
    for request, row in zip(requests, rows, strict=True):
        for wait in row.waits:
            if wait.row in numbers:
                src = requests[numbers[wait.row]]
                kind = wait.kind or _kind(src, request, agents, begun)
                yield Edge(src.request, request.request, kind, wait.delay_us, wait.anchor, wait.evidence)
        begun.add(request.agent)


def _kind(src: Request, dst: Request, agents: Sequence[Agent], begun: Collection[int]) -> EdgeKind:
    if src.agent == dst.agent:
        return "sequence"
    return "spawn" if dst.agent not in begun and agents[dst.agent].parent == src.agent else "join"
