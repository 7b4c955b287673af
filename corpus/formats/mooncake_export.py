"""Sessions as Mooncake rows; the dialects, and what each loses, are described in `corpus.formats.mooncake`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from corpus.blocks import expand_blocks
from corpus.formats.conversations import Row
from corpus.formats.mooncake_rows import session_row, to_ms
from corpus.formats.patch import apply_patch
from corpus.formats.relist import IdSpace
from corpus.formats.trace_rows import (
    Prompt,
    Tally,
    added_tokens,
    agent_names,
    answered_part,
    asked_tokens,
    conversations,
    imported,
    is_whole,
)
from corpus.graph import end_us
from corpus.session import MooncakeDialect, Request, Session

Line = dict[str, Any]

_BLOCK_SIZE: Final = 512
# Tells AIPerf (after 0.13) that rows are whole prompts; others ignore it.
_WHOLE_PROMPTS: Final = {"context_mode": "message_array_with_responses"}


class _Part(NamedTuple):
    """What of a session goes out, with its lists at `size`."""

    session: Session
    lists: list[list[int]]
    size: int
    t0_us: int
    ids: IdSpace | None  # None: the ids are the file's own


def export_rows(sessions: Iterable[Session], dialect: MooncakeDialect, tally: Tally) -> Iterator[Line]:
    """The lines of a file: an import's in their order, plain ones by time, others session by session."""
    ids = IdSpace()
    held: list[tuple[tuple[int, int], Line]] = []  # lines whose place only the whole file shows
    for session in sessions:
        if session.source_format == "mooncake" and session.source_dialect == dialect and is_whole(session):
            tally.add(len(session.requests), len(session.requests))
            held += [((0, row), line) for row, line in _as_imported(session, dialect)]
            continue
        part = _part(session, ids)
        tally.add(len(session.requests), len(part.session.requests))
        if dialect == "plain":
            held += [((_start_us(part, r), len(held)), _line(part, r, None)) for r in part.session.requests]
        else:
            yield from _session_lines(part, delta=dialect == "delta")
    yield from (line for _, line in sorted(held, key=lambda placed: placed[0]))


def _as_imported(session: Session, dialect: MooncakeDialect) -> Iterator[tuple[int, Line]]:
    told, names = imported(session), agent_names(session)
    named = [agent.source is not None for agent in session.agents]
    lists = expand_blocks([request.blocks for request in session.requests])
    last: dict[int, Row] = {}
    # A turn's part is what is new since the row before it, whatever the clock says.
    for r, ids in sorted(zip(session.requests, lists, strict=True), key=lambda pair: pair[0].position):
        name = names[r.agent] if named[r.agent] else None
        row = Row(r.position, name, told["t0_us"] + r.t_start_us, r.input_tokens, r.output_tokens, ids.tolist())
        line = session_row(row, last.get(r.agent) if dialect == "delta" else None, session.block_size)
        yield r.position, apply_patch(told["patches"].get(str(r.position), {}), line)
        last[r.agent] = row


def _part(session: Session, ids: IdSpace) -> _Part:
    part = answered_part(session)
    t0_us = imported(session).get("t0_us", 0)
    if session.source_format == "mooncake":  # the file's own ids, which other sessions may share
        lists = [found.tolist() for found in expand_blocks([r.blocks for r in part.requests])]
        return _Part(part, lists, session.block_size, t0_us, None)
    return _Part(part, ids.lists(part, _BLOCK_SIZE), _BLOCK_SIZE, t0_us, ids)


def _start_us(part: _Part, request: Request) -> int:
    return part.t0_us + request.t_start_us


def _line(part: _Part, request: Request, name: str | None) -> Line:
    ids, start_us = part.lists[request.request], _start_us(part, request)
    row = Row(request.position, name, start_us, request.input_tokens, asked_tokens(request), ids)
    return session_row(row, None, part.size)


def _session_lines(part: _Part, *, delta: bool) -> Iterator[Line]:
    for name, requests in conversations(part.session):
        for number, request in enumerate(requests):
            if not delta:
                line = _line(part, request, name) | _WHOLE_PROMPTS
                yield _after(line, requests[number - 1], request) if number else line
        if delta:
            yield from _delta_lines(part, name, requests)


def _delta_lines(part: _Part, name: str, requests: Iterable[Request]) -> Iterator[Line]:
    before: Prompt | None = None
    times = 1
    for request in requests:
        added = None if before is None else added_tokens(before, request, part.lists, part.size)
        times += before is not None and added is None
        line = _line(part, request, name if times == 1 else f"{name}~{times}")
        if before is None or added is None:
            before = Prompt(request, request.input_tokens)
        else:
            ids = line["hash_ids"][added // -part.size :]  # as many as the new part fills, rounded up
            if part.ids is not None:  # the last one is cut elsewhere than in a whole list, so it is another block
                ids[-1] = part.ids.fresh()
            line = _after(line, before.request, request) | {"input_length": added, "hash_ids": ids}
            before = Prompt(request, before.tokens + asked_tokens(before.request) + added)
        yield line


def _after(line: Line, before: Request, request: Request) -> Line:
    """The line with the pause since the answer before it in place of its time."""
    rest = {key: value for key, value in line.items() if key != "timestamp"}
    return rest | {"delay": to_ms(max(0, request.t_start_us - end_us(before)))}
