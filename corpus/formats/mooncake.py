"""Mooncake traces: one request a line, block ids that mean the same in the whole file. Four dialects.

    plain     requests by time stamp (Mooncake's own); no session, so every row is an agent that waits for nobody
    sessions  rows with a `session_id`: turn after turn, `delay` ms after the one before; each row a whole prompt
    delta     the same, but after the first turn a row holds only what is new in the prompt, the last answer left out
    agentic   Dynamo's: `request_id` and `wait_for` make a graph of rows; `delay` plus `tool_wait_ms` pass after them

Told apart by keys; `delta` by its lists, of which none begins as the turn before does. A reader who knows better names
the dialect. Block size is not in the file: 512 when every list fits it, else the first power of two that fits best.

Lost on import: prompt text (rows that carry it instead of lengths are refused), and ends, which no row states.

Lost on export: everything but order, lengths and blocks. plain: who waits for whom. sessions, delta: sub-agents become
sessions of their own that start by the clock. agentic: kinds of edges and their evidence, waits for a start instead of
an end (it waits for what that one waited for), and tool events; each row waits with one delay, the shortest. All:
models, segments, usage, first-token times, failed attempts. Blocks of 64 become blocks of 512, so shared prefixes are
seen up to 511 tokens shorter. A delta cannot shrink: where a prompt does not go on from the last one, the session goes
on under a new name.

Consumers disagree about sessions: AIPerf up to 0.13 treats every one as delta, Dynamo as whole prompts unless told.
Written rows therefore say `context_mode`, which AIPerf reads from the release after. Proven (tests/peers): plain,
sessions and delta by AIPerf 0.13.0 and agentx-harness 1.0.12, sessions and delta by Dynamo 1.6.1. Unverified: agentic.
Its one reader, Dynamo, has since moved on to a second version (a header with `dynamo.agentic_mooncake`, dependencies
with a trigger and a delay each), which is neither read nor written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import orjson

from corpus.errors import InputError
from corpus.formats.files import kind_of, read_head, read_values
from corpus.formats.mooncake_export import export_rows
from corpus.formats.mooncake_reader import parse_rows, sessions_of_lines
from corpus.formats.trace_rows import Tally, Written
from corpus.output import written_aside
from corpus.session import MooncakeDialect, Session

__all__ = ["is_mooncake", "read_mooncake", "write_mooncake"]

DELTA_MARK: Final = "delta"


def is_mooncake(path: Path) -> bool:
    """Whether a file's first lines look like Mooncake rows; they may still be broken."""
    if not path.is_file() or kind_of(path) not in (".jsonl", ".json"):
        return False
    first = read_head(path).lstrip().partition(b"\n")[0]
    lengths = b'"input_length"' in first and b'"chat_id"' not in first
    return lengths or (b'"output_length"' in first and any(key in first for key in (b'"text_input"', b'"messages"')))


def read_mooncake(path: Path, dialect: MooncakeDialect | None = None) -> Iterator[Session]:
    """Sessions of a file; InputError names file, line and key. `dialect` overrides what the rows suggest."""
    lines = parse_rows(read_values(path))
    if not lines:
        raise InputError(path, "holds no Mooncake row", "name a .jsonl file with one request a line")
    yield from sessions_of_lines(lines, path, dialect)


def write_mooncake(
    path: Path, sessions: Iterable[Session], dialect: MooncakeDialect, *, force: bool = False
) -> Written:
    """One file. A delta is refused a name that does not say so, for nothing else would tell a reader."""
    if dialect == "delta" and DELTA_MARK not in path.name:
        raise InputError(path, "would be read as whole prompts", f"put {DELTA_MARK!r} into its name")
    tally = Tally()
    with written_aside(path, force=force, replaceable=lambda _: False) as aside, aside.open("wb") as file:
        for row in export_rows(sessions, dialect, tally):
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
    return tally.written()
