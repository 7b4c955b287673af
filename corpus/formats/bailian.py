"""Bailian traces: one request a line, each naming the one it follows; blocks of 16 tokens, ids of the whole file.

A chat (a request without parent and all that follow it) is an agent; a request waits for its parent, and two that
follow the same parent both do. `type` becomes the request's input kind. `corpus.formats.conversations` says what is a
session.

Lost on import: ends, which no row states. Lost on export: everything but order, lengths and blocks; kinds of agents and
edges (a sub-agent's first request follows the one that spawned it, joins are gone); model, segments, usage, failed
attempts. Blocks of 64 become four of 16 each: where two prompts part within a block is invented, so they are seen to
part at its start. Proven against AIPerf 0.13.0 and agentx-harness 1.0.12 (tests/peers), which read every row as it is
but then put their own answers between the turns of a chat; releases after 0.13 send each row as a whole prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from corpus.blocks import expand_blocks
from corpus.errors import InputError
from corpus.formats.conversations import Row, Source, Wait, sessions_of_rows
from corpus.formats.fields import CORRECT, Field, check_object, is_count, is_ids, is_number, is_seconds, is_text
from corpus.formats.files import kind_of, read_head, read_values
from corpus.formats.patch import Object, apply_patch, patch_between
from corpus.formats.relist import IdSpace
from corpus.formats.trace_rows import Tally, Written, answered_part, asked_tokens, imported, is_whole, output_tokens
from corpus.output import written_aside
from corpus.session import Request, Session

BLOCK_SIZE: Final = 16
_ROOT: Final = -1
ROW: Final[Mapping[str, Field]] = {
    "chat_id": Field(is_number, required=True),
    "parent_chat_id": Field(is_number, required=True),
    "timestamp": Field(is_seconds, required=True),
    "input_length": Field(is_count, required=True),
    "output_length": Field(is_count, required=True),
    "type": Field(is_text),
    "turn": Field(is_count),
    "hash_ids": Field(is_ids),
}


def is_bailian(path: Path) -> bool:
    """Whether a file's first line looks like a Bailian row; it may still be broken."""
    if not path.is_file() or kind_of(path) not in (".jsonl", ".json"):
        return False
    first = read_head(path).lstrip().partition(b"\n")[0]
    return b'"chat_id"' in first and b'"input_length"' in first


def read_bailian(path: Path) -> Iterator[Session]:
    """Sessions of a file; InputError names file, line and key."""
    found: dict[int, Object] = {}
    for where, value in read_values(path):
        row = check_object(value, ROW, where)
        if row["chat_id"] in found:
            raise InputError(f"{where}: chat_id", f"{row['chat_id']} is already the id of another row", CORRECT)
        found[row["chat_id"]] = row
    if not found:
        raise InputError(path, "holds no Bailian row", "name a .jsonl file with one request a line")
    source = Source("bailian", None, BLOCK_SIZE, str(path), path.name.partition(".")[0] or "trace")
    yield from sessions_of_rows(_rows(found, path), source)


def _rows(found: Mapping[int, Object], path: Path) -> list[Row]:
    numbers = {chat: number for number, chat in enumerate(found)}
    roots = _roots(found, path)
    rows = []
    for chat, value in found.items():
        start_us = round(value["timestamp"] * 1_000_000)
        parent = found.get(value["parent_chat_id"])
        waits: tuple[Wait, ...] = ()
        if parent is not None:
            delay_us = max(0, start_us - round(parent["timestamp"] * 1_000_000))
            waits = (Wait(numbers[value["parent_chat_id"]], delay_us),)
        kinds = (value["type"],) if "type" in value else ()
        tokens, answer, ids = value["input_length"], value["output_length"], value.get("hash_ids", ())
        row = Row(numbers[chat], str(roots[chat]), start_us, tokens, answer, ids, waits, kinds=kinds)
        rows.append(row._replace(patch=patch_between(value, _bare_line(row))))
    return rows


def _roots(found: Mapping[int, Object], path: Path) -> dict[int, int]:
    """For every chat the first of its line."""
    roots: dict[int, int] = {}
    for chat in found:
        line = [chat]
        while line[-1] not in roots and found[line[-1]]["parent_chat_id"] in found:
            line.append(found[line[-1]]["parent_chat_id"])
            if len(line) > len(found):
                raise InputError(path, f"chat {chat} follows itself by way of its parents", CORRECT)
        root = roots.get(line[-1], line[-1])
        roots.update((one, root) for one in line)
    return roots


def _line(row: Row, *, chat: int, parent: int, turn: int) -> dict[str, Any]:
    return {
        "chat_id": chat,
        "parent_chat_id": parent,
        "timestamp": row.start_us / 1_000_000,
        "input_length": row.input_tokens,
        "output_length": row.output_tokens,
        **({"type": row.kinds[0]} if row.kinds else {}),
        "turn": turn,
        "hash_ids": list(row.ids),
    }


def write_bailian(path: Path, sessions: Iterable[Session], *, force: bool = False) -> Written:
    """One file: an import's lines in their order, all others by time."""
    tally, ids, chats = Tally(), IdSpace(), 0
    held: list[tuple[tuple[int, int], dict[str, Any]]] = []
    with written_aside(path, force=force, replaceable=lambda _: False) as aside:
        for session in sessions:
            if session.source_format == "bailian" and is_whole(session):
                tally.add(len(session.requests), len(session.requests))
                held += [((0, row), line) for row, line in _as_imported(session)]
                continue
            part = answered_part(session)
            tally.add(len(session.requests), len(part.requests))
            held += _exported(part, _lists(part, ids), chats)
            chats += len(part.requests)
        held.sort(key=lambda placed: placed[0])
        aside.write_bytes(b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for _, line in held))
    return tally.written()


def _as_imported(session: Session) -> Iterator[tuple[int, dict[str, Any]]]:
    told = imported(session)
    lists = expand_blocks([request.blocks for request in session.requests])
    for request, ids in zip(session.requests, lists, strict=True):
        line = _bare_line(_row(request, told["t0_us"], ids.tolist()))
        yield request.position, apply_patch(told["patches"].get(str(request.position), {}), line)


def _bare_line(row: Row) -> dict[str, Any]:
    """What an import's patch starts from: no parent, first turn."""
    return _line(row, chat=row.row, parent=_ROOT, turn=1)


def _lists(part: Session, ids: IdSpace) -> list[list[int]]:
    if part.source_format == "bailian":  # the file's own ids, which other sessions may share
        return [found.tolist() for found in expand_blocks([request.blocks for request in part.requests])]
    return ids.lists(part, BLOCK_SIZE)


def _exported(part: Session, lists: Sequence[list[int]], first_chat: int) -> Iterator[tuple[tuple[int, int], Object]]:
    t0_us = imported(part).get("t0_us", 0)
    for request, (parent, turn) in zip(part.requests, _turns(part), strict=True):
        row = _row(request, t0_us, lists[request.request])
        if part.source_format != "bailian":  # its own types are text, search, image and file
            row = row._replace(output_tokens=asked_tokens(request), kinds=("text",))
        chat = first_chat + request.request
        above = _ROOT if parent is None else first_chat + parent
        yield (
            (row.start_us, chat),
            _line(row, chat=chat, parent=above, turn=turn),
        )


def _row(request: Request, t0_us: int, ids: list[int]) -> Row:
    kinds = request.input_kinds if len(request.input_kinds) == 1 else ()
    start_us = t0_us + request.t_start_us
    return Row(request.position, None, start_us, request.input_tokens, output_tokens(request), ids, kinds=kinds)


def _turns(session: Session) -> list[tuple[int | None, int]]:
    """Per request the one it follows, of its own agent or else the one that spawned it, and its place in that line."""
    turns: list[tuple[int | None, int]] = []
    follows: dict[int, int] = {}
    for edge in session.edges:
        if edge.src < edge.dst and edge.kind != "join":
            own = session.requests[edge.src].agent == session.requests[edge.dst].agent
            if own or edge.dst not in follows:
                follows[edge.dst] = edge.src
    for request in session.requests:
        parent = follows.get(request.request)
        turns.append((parent, 1 if parent is None else turns[parent][1] + 1))
    return turns
