"""Mooncake traces: one request a line, block ids that mean the same in the whole file. Four dialects.

    plain     requests by time stamp (Mooncake's own); no session, so every row is an agent that waits for nobody
    sessions  rows with a `session_id`: turn after turn, `delay` ms after the one before; each row a whole prompt
    delta     the same, but after the first turn a row holds only what is new in the prompt, the last answer left out
    agentic   Dynamo's second version: a graph of requests with a header (`corpus.formats.mooncake_graph`)

Told apart by keys; `delta` by its lists, of which none begins as the turn before does. A reader who knows better names
the dialect. Block size is only in the agentic header: else 512 when every list fits it, or the first power of two that
fits best. Dynamo's first version (`request_id`, `wait_for`, `delay` plus `tool_wait_ms`; no header) is read as agentic
and written as the second, which is the only one that Dynamo still takes: lengths, blocks and waits stay, `branches`,
`prefix_reset` and `tool_events` do not.

Rows that carry text or tokens, instead of lengths or beside them, are refused. Beside lengths they would enter a corpus
with what else a row says; instead of lengths they say nothing that was recorded: how many tokens they are depends on a
tokenizer and a chat template that no row names, and whether a turn adds to the one before or repeats it on the reader.
dag_jsonl settles both, so conversations of text come in as that. Lost on import: ends, which only agentic rows state.

Lost on export: everything but order, lengths and blocks. plain: who waits for whom. sessions, delta: sub-agents become
sessions of their own that start by the clock. agentic: purposes, evidence, and that an aside is none; block ids of
different sessions never meet. All: segments, usage, first-token times, failed attempts; all but agentic: models. In all
but agentic, blocks of 64 become blocks of 512, so shared prefixes are seen up to 511 tokens shorter. A delta cannot
shrink: where a prompt does not go on from the last one, the session goes on under a new name.

Consumers disagree about sessions: AIPerf up to 0.13 treats every one as delta, Dynamo as whole prompts unless told.
Written rows therefore say `context_mode`, which AIPerf reads from the release after. Proven (tests/peers): plain,
sessions and delta by AIPerf 0.13.0 and agentx-harness 1.0.12, sessions, delta and agentic by Dynamo 1.6.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import orjson

from corpus.errors import InputError
from corpus.formats.files import kind_of, read_head, read_values
from corpus.formats.mooncake_export import export_rows
from corpus.formats.mooncake_graph import export_plays, is_header, read_plays
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
    if b'"dynamo.agentic_mooncake"' in first:
        return True
    lengths = b'"input_length"' in first and b'"chat_id"' not in first
    return lengths or (b'"output_length"' in first and any(key in first for key in (b'"text_input"', b'"messages"')))


def read_mooncake(path: Path, dialect: MooncakeDialect | None = None) -> Iterator[Session]:
    """Sessions of a file; InputError names file, line and key. `dialect` overrides what the rows suggest."""
    values = list(read_values(path))
    if dialect in (None, "agentic") and values and is_header(values[0][1]):
        yield from read_plays(values, str(path))
        return
    lines = parse_rows(values)
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
        rows = export_plays(sessions, tally) if dialect == "agentic" else export_rows(sessions, dialect, tally)
        for row in rows:
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
    return tally.written()
