"""Agentic Mooncake, second version: a header, then requests that say what they wait for, each wait with its own delay.

Block ids count within a play, which is a session here; blocks have the size that the header states, prompts list their
partial last one. A row starts `delay_ms` after each of its dependencies was answered (trigger `completion`) or sent
(`dispatch`), and not before `not_before_ms` on the play's clock; here only rows that wait for nobody state that.
`recorded_api_time_ms` is how long the recorded answer took. Relations are sequence, spawn and join as here; an aside is
a spawn, and a `replay_barrier` reads as a join found by time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from corpus.blocks import expand_blocks
from corpus.errors import InputError
from corpus.formats.conversations import Row, Source, Wait, session_of_rows
from corpus.formats.fields import (
    CORRECT,
    Field,
    check_object,
    is_count,
    is_ids,
    is_list,
    is_milliseconds,
    is_size,
    is_text,
)
from corpus.formats.mooncake_rows import refuse_text, to_ms, to_us
from corpus.formats.patch import Object, apply_patch, patch_between
from corpus.formats.relist import IdSpace
from corpus.formats.trace_rows import (
    Tally,
    agent_names,
    answered_part,
    asked_tokens,
    imported,
    is_whole,
    output_tokens,
)
from corpus.graph import predecessors, topological_order
from corpus.session import Anchor, Edge, EdgeKind, Evidence, Request, Session

SCHEMA: Final = "dynamo.agentic_mooncake"
VERSION: Final = 2

_HEADER: Final[Mapping[str, Field]] = {
    "schema": Field(is_text, required=True),
    "version": Field(is_count, required=True),
    "block_size": Field(is_size, required=True),
    "hash_id_scope": Field(is_text, required=True),
}
_ROW: Final[Mapping[str, Field]] = {
    "request_id": Field(is_text, required=True),
    "play_id": Field(is_text, required=True),
    "session_id": Field(is_text, required=True),
    "model": Field(is_text, required=True),
    "input_length": Field(is_count, required=True),
    "output_length": Field(is_count, required=True),
    "hash_ids": Field(is_ids, required=True),
    "not_before_ms": Field(is_milliseconds, required=True),
    "recorded_api_time_ms": Field(is_milliseconds, null=True),
    "dependencies": Field(is_list, null=True),
}
_DEPENDENCY: Final[Mapping[str, Field]] = {
    "request_id": Field(is_text, required=True),
    "trigger": Field(is_text, required=True),
    "delay_ms": Field(is_milliseconds, required=True),
    "relation": Field(is_text, required=True),
}
_ANCHORS: Final[dict[str, Anchor]] = {"completion": "end", "dispatch": "start"}
_TRIGGERS: Final = {anchor: trigger for trigger, anchor in _ANCHORS.items()}
_KINDS: Final[dict[str, EdgeKind]] = {
    "sequence": "sequence",
    "spawn": "spawn",
    "join": "join",
    "replay_barrier": "join",
}
_RELATIONS: Final[dict[EdgeKind, str]] = {
    "sequence": "sequence",
    "retry": "sequence",
    "spawn": "spawn",
    "aux": "spawn",
    "join": "join",
}


class _Line(NamedTuple):
    number: int  # of the row in the file
    where: str
    row: Object


def is_header(value: object) -> bool:
    return isinstance(value, dict) and value.get("schema") == SCHEMA


def make_header(block_size: int, source_format: str) -> Object:
    source = {"format": f"agentreel {source_format}", "digest": "unstated"}  # its reader wants both
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "block_size": block_size,
        "hash_id_scope": "local",
        "source": source,
    }


def read_plays(values: Sequence[tuple[str, object]], path: str) -> Iterator[Session]:
    """One session a play, in order of first rows; the header comes first. InputError at the first flaw."""
    where, found = values[0]
    header = check_object(found, _HEADER, where)
    if header["version"] != VERSION or header["hash_id_scope"] != "local":
        problem = f"version {header['version']} with {header['hash_id_scope']} ids is not known"
        raise InputError(where, problem, f"version {VERSION} with local ids is read")
    plays: dict[str, list[_Line]] = {}
    for number, (at, value) in enumerate(values[1:]):
        refuse_text(value, at)
        row = check_object(value, _ROW, at)
        plays.setdefault(row["play_id"], []).append(_Line(number, at, row))
    if not plays:
        raise InputError(path, "holds a header and no request", CORRECT)
    for number, (play, lines) in enumerate(plays.items()):
        source = Source("mooncake", "agentic", header["block_size"], path, play)
        yield _with_patches(session_of_rows(_rows(lines, path), source, number, play), lines, header)


def export_plays(sessions: Iterable[Session], tally: Tally) -> Iterator[Object]:
    """The lines of a file. Rows of an import whose header the file begins with keep their order and come last."""
    header: Object | None = None
    held: list[tuple[int, Object]] = []
    for session in sessions:
        own = _header_of(session)
        if header is None:
            header = own or make_header(session.block_size, session.source_format)
            yield header
        if own == header:
            tally.add(len(session.requests), len(session.requests))
            patches = imported(session).get("patches", {})
            lines = zip(session.requests, _lines(session, _own_lists(session), is_own=True), strict=True)
            held += [(r.position, apply_patch(patches.get(str(r.position), {}), line)) for r, line in lines]
            continue
        part = answered_part(session)
        tally.add(len(session.requests), len(part.requests))
        yield from _lines(part, IdSpace().lists(part, header["block_size"]))
    yield from (line for _, line in sorted(held, key=lambda placed: placed[0]))


def _header_of(session: Session) -> Object | None:
    """Of the file that the session was read from, if it still has all its rows."""
    header: Object | None = imported(session).get("header") if is_whole(session) else None
    return header


def _lines(session: Session, lists: Sequence[list[int]], *, is_own: bool = False) -> Iterator[Object]:
    """`is_own`: the lengths are asked for as the file has them, zero included."""
    names, into = agent_names(session), predecessors(len(session.requests), session.edges)
    t0_us = imported(session).get("t0_us", 0)
    for request, ids, edges in zip(session.requests, lists, into, strict=True):
        line: Object = {
            "request_id": _name(session, request),
            "play_id": session.label,
            "session_id": names[request.agent],
            "model": session.models[request.model],
            "input_length": request.input_tokens,
            "output_length": output_tokens(request) if is_own else asked_tokens(request),
            "hash_ids": ids,
            "not_before_ms": 0 if edges else to_ms(t0_us + request.t_start_us),
        }
        if request.t_end_us is not None:
            line["recorded_api_time_ms"] = to_ms(request.t_end_us - request.t_start_us)
        if edges:
            line["dependencies"] = [_dependency(session, edge) for edge in edges]
        yield line


def _dependency(session: Session, edge: Edge) -> Object:
    return {
        "request_id": _name(session, session.requests[edge.src]),
        "trigger": _TRIGGERS[edge.anchor],
        "delay_ms": to_ms(edge.delay_us),
        "relation": _RELATIONS[edge.kind],
    }


def _name(session: Session, request: Request) -> str:
    return f"{session.label}#{request.position}"


def _own_lists(session: Session) -> list[list[int]]:
    return [ids.tolist() for ids in expand_blocks([request.blocks for request in session.requests])]


def _with_patches(session: Session, lines: Iterable[_Line], header: Object) -> Session:
    """The session with what gives its file back."""
    told: dict[str, Any] = json.loads(session.source or "{}") | {"header": header}
    session = replace(session, source=json.dumps(told, separators=(",", ":")))
    found = {line.number: line.row for line in lines}
    rebuilt = zip(session.requests, _lines(session, _own_lists(session), is_own=True), strict=True)
    patches = {str(one.position): patch_between(found[one.position], line) for one, line in rebuilt}
    told["patches"] = {number: patch for number, patch in patches.items() if patch}
    return replace(session, source=json.dumps(told, separators=(",", ":")))


def _rows(lines: Sequence[_Line], path: str) -> list[Row]:
    numbers: dict[str, int] = {}  # place in `lines` by request id
    for place, (_, where, row) in enumerate(lines):
        if numbers.setdefault(row["request_id"], place) != place:
            raise InputError(f"{where}: request_id", f"{row['request_id']!r} is already the id of another row", CORRECT)
    waits = [_waits(line, numbers) for line in lines]
    starts = _starts(lines, waits, path)
    return [
        Row(
            row=number,
            conversation=row["session_id"],
            start_us=start_us,
            input_tokens=row["input_length"],
            output_tokens=row["output_length"],
            ids=row["hash_ids"],
            waits=tuple(wait._replace(row=lines[wait.row].number) for wait in waits_of),
            model=row["model"],
            api_us=_api_us(row),
        )
        for (number, _, row), start_us, waits_of in zip(lines, starts, waits, strict=True)
    ]


def _waits(line: _Line, numbers: Mapping[str, int]) -> list[Wait]:
    waits = []
    for place, found in enumerate(line.row.get("dependencies") or ()):
        told = check_object(found, _DEPENDENCY, line.where, f"dependencies[{place}]")
        name, trigger, relation = told["request_id"], told["trigger"], told["relation"]
        if name not in numbers or trigger not in _ANCHORS or relation not in _KINDS:
            problem = f"{name!r} ({trigger}, {relation}) is no row of the play, or no known trigger and relation"
            raise InputError(f"{line.where}: dependencies[{place}]", problem, CORRECT)
        evidence: Evidence = "timing" if relation == "replay_barrier" else "id"
        waits.append(Wait(numbers[name], to_us(told["delay_ms"]), _ANCHORS[trigger], _KINDS[relation], evidence))
    return waits


def _starts(lines: Sequence[_Line], waits: Sequence[Sequence[Wait]], path: str) -> list[int]:
    """When each row goes out if every answer takes as long as recorded; no time where that is not said."""
    edges = [
        Edge(wait.row, place, "sequence", wait.delay_us, wait.anchor, "id")
        for place, found in enumerate(waits)
        for wait in found
    ]
    try:
        order = topological_order(len(lines), edges)
    except ValueError as error:
        raise InputError(path, f"rows wait for each other in a circle ({error})", CORRECT) from error
    starts = [to_us(line.row["not_before_ms"]) for line in lines]
    for place in order:
        for wait in waits[place]:
            took_us = (_api_us(lines[wait.row].row) or 0) if wait.anchor == "end" else 0
            starts[place] = max(starts[place], starts[wait.row] + took_us + wait.delay_us)
    return starts


def _api_us(row: Object) -> int | None:
    return None if row.get("recorded_api_time_ms") is None else to_us(row["recorded_api_time_ms"])
