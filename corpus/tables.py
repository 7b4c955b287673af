"""A corpus on disk: a folder of five Parquet tables and a card.

Both directions stream. A row group holds whole sessions, the same ones in every table, so neither side holds more than
one row group; a table without rows for a group of sessions simply has no such group. What is read is checked: columns
against `corpus.schemas`, every session against `corpus.soundness`, and a folder that cannot be read to its end is an
`InputError` that names the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from corpus.card import CORPUS_VERSION, COUNTED, Card, is_corpus, read_card, write_card
from corpus.errors import InputError
from corpus.fingerprint import Fingerprint
from corpus.output import written_aside
from corpus.rows import Row, rows_of, session_of
from corpus.schemas import SCHEMAS, open_writer
from corpus.session import Session
from corpus.soundness import find_flaw

__all__ = ["is_corpus", "read_card", "read_corpus", "write_corpus"]

# Requests a row group holds before it is written: some MB in memory, large enough for packing to pay.
_GROUP_REQUESTS: Final = 8192
_PARTS: Final = ("agents", "requests", "tool_calls", "edges")
_DAMAGED: Final = "the file is damaged or incomplete; copy or build the corpus again"


def write_corpus(
    path: Path,
    sessions: Iterable[Session],
    card: Card,
    *,
    force: bool = False,
    approve: Callable[[Path], None] | None = None,
) -> Card:
    """Write sessions, numbered from 0 in their order, and the card; returns the card as written.

    Fingerprint, counts and version of the card are filled in; `card.rejected` and `card.audit` are read after the last
    session was taken. `approve` sees the finished folder before it takes its place; what it raises prevents that.
    OutputExistsError when `path` exists and `force` is not given; ValueError when a session is not sound.
    """
    with written_aside(path, force=force, replaceable=is_corpus) as aside:
        aside.mkdir()
        fingerprint = Fingerprint()
        with ExitStack() as stack:
            tables = {name: _Table(stack, aside, name) for name in COUNTED}
            for number, session in enumerate(sessions):
                _refuse_unsound(session, number)
                fingerprint.add(session)
                for name, rows in rows_of(session).items():
                    tables[name].rows.extend(rows)
                if len(tables["requests"].rows) >= _GROUP_REQUESTS:
                    _flush(tables)
            _flush(tables)
        counts = {name: table.written for name, table in tables.items()}
        card = replace(
            card,
            version=CORPUS_VERSION,
            fingerprint=fingerprint.hex(),
            counts=counts,
            rejected=dict(card.rejected),  # a plain one, whatever the caller counted with
        )
        write_card(aside, card)
        if approve is not None:
            approve(aside)
    return card


def read_corpus(path: Path) -> Iterator[Session]:
    """The sessions in order, each checked as it is built; InputError when anything is missing, odd or damaged."""
    card = read_card(path)
    with ExitStack() as stack:
        streams = {name: _RowStream(stack, path, name, card) for name in COUNTED}
        for number, row in enumerate(streams["sessions"]):
            if row[0] != number:
                raise InputError(path / "sessions.parquet", f"session {row[0]} stands where {number} should", _DAMAGED)
            session = session_of(row, {name: streams[name].of_session(number) for name in _PARTS})
            flaw = find_flaw(session)
            if flaw is not None:
                raise InputError(path, f"session {number}: {flaw}", "build the corpus again")
            yield session
        for stream in streams.values():
            stream.finish()


class _Table:
    """A table being written: rows wait in memory until a row group is full."""

    def __init__(self, stack: ExitStack, folder: Path, name: str) -> None:
        self.schema = SCHEMAS[name]
        self.writer = stack.enter_context(open_writer(str(folder / f"{name}.parquet"), self.schema))
        self.rows: list[Row] = []
        self.written = 0

    def flush(self) -> None:
        if self.rows:
            values = zip(*self.rows, strict=True)
            columns = [pa.array(column, field.type) for column, field in zip(values, self.schema, strict=True)]
            self.writer.write_table(pa.Table.from_arrays(columns, schema=self.schema), row_group_size=len(self.rows))
            self.written += len(self.rows)
            self.rows = []


def _flush(tables: dict[str, _Table]) -> None:
    for table in tables.values():
        table.flush()


def _refuse_unsound(session: Session, number: int) -> None:
    flaw = f"is numbered {session.session}" if session.session != number else find_flaw(session)
    if flaw is not None:
        raise ValueError(f"session {number}: {flaw}")


class _RowStream:
    """The rows of one table, a row group in memory at a time, with one row looked ahead."""

    def __init__(self, stack: ExitStack, folder: Path, name: str, card: Card) -> None:
        self.path = folder / f"{name}.parquet"
        with _blaming(self.path):
            self.file = stack.enter_context(pq.ParquetFile(self.path, page_checksum_verification=True))
            if not self.file.schema_arrow.equals(SCHEMAS[name]):
                raise InputError(self.path, "has other columns than this agentreel writes", "build the corpus again")
            self.left = self.file.metadata.num_rows
        if self.left != card.counts.get(name):
            problem = f"has {self.left} rows, the card says {card.counts.get(name)}"
            raise InputError(self.path, problem, _DAMAGED)
        self.ahead: Row | None = None
        self._rows = self._read()

    def __iter__(self) -> Iterator[Row]:
        return self._rows

    def of_session(self, session: int) -> Iterator[Row]:
        """The rows that belong to `session`, which must be next."""
        if self.ahead is not None:
            if self.ahead[0] != session:
                return
            row, self.ahead = self.ahead, None
            yield row
        for row in self._rows:
            if row[0] != session:
                self.ahead = row
                return
            yield row

    def finish(self) -> None:
        left = self.ahead if self.ahead is not None else next(self._rows, None)
        if left is not None:
            raise InputError(self.path, f"has rows of session {left[0]}, which is not there or out of order", _DAMAGED)

    def _read(self) -> Iterator[Row]:
        for group in range(self.file.num_row_groups):
            with _blaming(self.path):
                table = self.file.read_row_group(group)
                table.validate(full=True)
                _refuse_nulls(self.path, table)
                columns = [column.to_pylist() for column in table.columns]
            yield from zip(*columns, strict=True)


def _refuse_nulls(path: Path, table: pa.Table) -> None:
    for field, column in zip(table.schema, table.columns, strict=True):
        if not field.nullable and column.null_count:
            raise InputError(path, f"{field.name} holds nulls", _DAMAGED)


@contextmanager
def _blaming(path: Path) -> Iterator[None]:
    """Turns what Arrow raises on a missing, cut or changed file into an error that names it."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(path, "is missing", _DAMAGED) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        first_line = str(error).partition("\n")[0]
        raise InputError(path, f"cannot be read as Parquet ({first_line})", _DAMAGED) from error
