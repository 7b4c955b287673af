"""Mooncake rows as sessions; the dialects are described in `corpus.formats.mooncake`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

from corpus.errors import InputError
from corpus.formats.conversations import Row, Source, Wait, sessions_of_rows
from corpus.formats.fields import (
    Field,
    check_object,
    is_count,
    is_flag,
    is_ids,
    is_list,
    is_milliseconds,
    is_text,
    is_texts,
)
from corpus.formats.mooncake_rows import refuse_text, session_row, to_us
from corpus.formats.patch import Object, patch_between
from corpus.session import MooncakeDialect, Session

ROW: Final[Mapping[str, Field]] = {
    "input_length": Field(is_count, required=True),
    "output_length": Field(is_count, null=True),
    "hash_ids": Field(is_ids, null=True),
    "timestamp": Field(is_milliseconds, null=True),
    "session_id": Field(is_text, null=True),
    "delay": Field(is_milliseconds, null=True),
    "request_id": Field(is_text, null=True),
    "wait_for": Field(is_texts, null=True),
    "branches": Field(is_texts, null=True),
    "prefix_reset": Field(is_flag, null=True),
    "tool_wait_ms": Field(is_milliseconds, null=True),
    "tool_events": Field(is_list, null=True),
}
_GRAPH_KEYS: Final = ("request_id", "wait_for", "branches")
_BLOCK_SIZES: Final = (512, 16, 32, 64, 128, 256, 1024, 2048, 4096)  # the format's own first


class Line(NamedTuple):
    where: str
    row: Object


def parse_rows(values: Iterable[tuple[str, object]]) -> list[Line]:
    """Checked rows; InputError at the first flaw."""
    lines = []
    for where, value in values:
        refuse_text(value, where)
        lines.append(Line(where, check_object(value, ROW, where)))
    return lines


def sessions_of_lines(lines: Sequence[Line], path: Path, dialect: MooncakeDialect | None) -> Iterator[Session]:
    dialect = dialect or detect_dialect([line.row for line in lines])
    size = fit_block_size([line.row for line in lines])
    rows = _agentic_rows(lines) if dialect == "agentic" else _turns(lines, size, dialect)
    source = Source("mooncake", dialect, size, str(path), path.name.partition(".")[0] or "trace")
    yield from sessions_of_rows(rows, source)


def detect_dialect(rows: Sequence[Object]) -> MooncakeDialect:
    if any(row.get(key) is not None for row in rows for key in _GRAPH_KEYS):
        return "agentic"
    if all(row.get("session_id") is None for row in rows):
        return "plain"
    last: dict[str, Object] = {}
    later = again = 0
    for row in rows:
        before = last.get(row.get("session_id") or "")
        if before is not None and row.get("hash_ids") and before.get("hash_ids"):
            later += 1
            again += row["hash_ids"][0] == before["hash_ids"][0]
        last[row.get("session_id") or ""] = row
    return "delta" if later and not again else "sessions"


def fit_block_size(rows: Sequence[Object]) -> int:
    """The size under which most lists hold all whole blocks of their prompts, a partial last one in or out."""
    lengths = [(row["input_length"], len(row["hash_ids"])) for row in rows if row.get("hash_ids")]
    fits = {size: sum(n in (tokens // size, -(-tokens // size)) for tokens, n in lengths) for size in _BLOCK_SIZES}
    return max(_BLOCK_SIZES, key=lambda size: fits[size])


def _turns(lines: Sequence[Line], size: int, dialect: MooncakeDialect) -> list[Row]:
    """Rows in which a conversation's turns wait for each other."""
    fresh = count(1 + max((max(line.row["hash_ids"]) for line in lines if line.row.get("hash_ids")), default=0))
    last: dict[str, Row] = {}
    rows = []
    for number, (_, found) in enumerate(lines):
        name = found.get("session_id") if dialect != "plain" else None
        before = last.get(name) if name is not None else None
        row = _turn(number, found, name, before)
        if dialect == "delta" and before is not None:
            row = _grown(row, before, size, fresh)
        rebuilt = session_row(row, before if dialect == "delta" else None, size)
        row = row._replace(patch=patch_between(found, rebuilt))
        rows.append(row)
        if name is not None:
            last[name] = row
    return rows


def _turn(number: int, found: Object, name: str | None, before: Row | None) -> Row:
    delay_us = to_us(found.get("delay") or 0)
    if found.get("timestamp") is not None:
        start_us = to_us(found["timestamp"])
        delay_us = delay_us if found.get("delay") is not None or before is None else start_us - before.start_us
    else:
        start_us = delay_us + (before.start_us if before else 0)
    waits = (Wait(before.row, max(0, delay_us)),) if before else ()
    ids = found.get("hash_ids") or ()
    return Row(number, name, start_us, found["input_length"], found.get("output_length"), ids, waits)


def _grown(row: Row, before: Row, size: int, fresh: Iterator[int]) -> Row:
    """The whole prompt of a turn that states what is new: the one before, its answer under fresh ids, the new part."""
    tokens = before.input_tokens + (before.output_tokens or 0) + row.input_tokens
    answer = max(0, tokens // size - len(before.ids) - len(row.ids))
    ids = [*before.ids, *(next(fresh) for _ in range(answer)), *row.ids]
    return row._replace(input_tokens=tokens, ids=ids)


def _agentic_rows(lines: Sequence[Line]) -> list[Row]:
    numbers: dict[str, int] = {}
    for number, (where, found) in enumerate(lines):
        name = found.get("request_id")
        if name is not None and name in numbers:
            raise InputError(f"{where}: request_id", f"{name!r} is already the id of another row", "give each its own")
        if name is not None:
            numbers[name] = number
    rows: list[Row] = []
    starts = _starts(lines, numbers)
    for number, (where, found) in enumerate(lines):
        missing = [name for name in found.get("wait_for") or () if name not in numbers]
        if missing:
            raise InputError(f"{where}: wait_for", f"no row has the request_id {missing[0]!r}", "add it or remove this")
        delay_us = to_us(found.get("delay") or 0) + to_us(found.get("tool_wait_ms") or 0)
        waits = tuple(Wait(numbers[name], delay_us) for name in dict.fromkeys(found.get("wait_for") or ()))
        name = found.get("session_id") or found.get("request_id")
        ids = found.get("hash_ids") or ()
        row = Row(number, name, starts[number], found["input_length"], found.get("output_length"), ids, waits)
        rows.append(row._replace(patch=patch_between(found, session_row(row, None, 1))))
    return rows


def _starts(lines: Sequence[Line], numbers: Mapping[str, int]) -> list[int]:
    """By time stamp; a row without one starts its delay after the latest start among those it waits for."""
    starts: list[int] = []
    for number, (_, found) in enumerate(lines):
        if found.get("timestamp") is not None:
            starts.append(to_us(found["timestamp"]))
            continue
        before = [starts[numbers[name]] for name in found.get("wait_for") or () if numbers.get(name, number) < number]
        delay_us = to_us(found.get("delay") or 0) + to_us(found.get("tool_wait_ms") or 0)
        starts.append(max(before, default=0) + delay_us)
    return starts
