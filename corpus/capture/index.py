"""An index beside the segments: what `scan_file` noted of each, in SQLite, so that a capture is scanned once.

It is derived and never evidence. A file's notes count only while the file has the size and time it had when it was
scanned, an index that is missing, damaged or of another version counts as empty, and one that cannot be written is done
without. Deleting it costs a scan. Only `captures` commands write it; the recorder doesn't, so no worker waits for
another, and network file systems are no danger to what was recorded.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from corpus.capture.scan import Damage, Place, RequestNote, ResponseNote, Scan
from corpus.exchange import GapRecord

INDEX_NAME: Final = "index.sqlite"
_VERSION: Final = 1
_RECORD: Final = ("file TEXT", "frame_offset INTEGER", "frame_end INTEGER", "record INTEGER", "exchange_id TEXT")
_WHO: Final = ("session_id TEXT", "t_request_us INTEGER", "agent_id TEXT", "parent_agent_id TEXT", "contributor TEXT")
_TABLES: Final[dict[str, tuple[str, ...]]] = {
    "files": ("file TEXT PRIMARY KEY", "size INTEGER", "mtime_ns INTEGER"),
    "requests": (*_RECORD, *_WHO, "model TEXT", "api TEXT", "purpose TEXT"),
    "responses": (
        *_RECORD,
        *("status INTEGER", "end TEXT", "t_end_us INTEGER", "input_tokens INTEGER", "output_tokens INTEGER"),
    ),
    "gaps": ("file TEXT", "cause TEXT", "t_start_us INTEGER", "t_end_us INTEGER", "count INTEGER"),
    "damage": ("file TEXT", "place INTEGER", "problem TEXT"),
}
_LOOK_UPS: Final = (("requests", "file"), ("requests", "exchange_id"), ("responses", "file"))

# What can be wrong with somebody's file, and with ids or times that SQLite can't hold.
_UNUSABLE: Final = (sqlite3.Error, OSError, OverflowError, UnicodeError)


def read_index(directory: Path, files: Iterable[Path]) -> dict[Path, Scan]:
    """The scans of those `files` that are as they were when they were scanned; possibly none."""
    scans: dict[Path, Scan] = {}
    if not (directory / INDEX_NAME).is_file():
        return scans
    with contextlib.suppress(*_UNUSABLE), _connected(directory / INDEX_NAME, "ro") as index:
        if _version(index) == _VERSION:
            for file in files:
                if _state(index, file) == _stat(file):
                    scans[file] = _scan(index, file)
    return scans


def write_index(directory: Path, scans: Mapping[Path, tuple[tuple[int, int], Scan]]) -> bool:
    """Add or replace what is known of these files, with the `file_state` before each was scanned; forget files that
    are gone. Whether that was possible."""
    path = directory / INDEX_NAME
    with contextlib.suppress(*_UNUSABLE):
        _write(path, scans)
        return True
    with contextlib.suppress(*_UNUSABLE):  # damaged, or of another version
        path.unlink(missing_ok=True)
        _write(path, scans)
        return True
    return False


def drop_index(directory: Path) -> None:
    (directory / INDEX_NAME).unlink(missing_ok=True)


def file_state(file: Path) -> tuple[int, int]:
    """Size and time of a file; (-1, -1) when it can't be told."""
    return _stat(file) or (-1, -1)


def _write(path: Path, scans: Mapping[Path, tuple[tuple[int, int], Scan]]) -> None:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    with _connected(path, "rw") as index, index:
        if _version(index) != _VERSION:
            _create(index)
        known = [str(name) for (name,) in index.execute("SELECT file FROM files")]
        gone = [name for name in known if not (path.parent / name).exists()]
        for name in (*gone, *(file.name for file in scans)):
            for table in _TABLES:
                index.execute(f"DELETE FROM {table} WHERE file = ?", (name,))  # noqa: S608 - names from the table above
        for file, (state, scan) in scans.items():
            _insert(index, file.name, state, scan)


def _create(index: sqlite3.Connection) -> None:
    if index.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise sqlite3.DatabaseError("an index of another version")
    for table, columns in _TABLES.items():
        index.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
    for table, column in _LOOK_UPS:
        index.execute(f"CREATE INDEX {table}_by_{column} ON {table} ({column})")
    index.execute(f"PRAGMA user_version = {_VERSION}")


def _insert(index: sqlite3.Connection, name: str, state: tuple[int, int], scan: Scan) -> None:
    _add(index, "files", [(name, *state)])
    _add(index, "requests", (_request_row(note) for note in scan.requests))
    _add(index, "responses", (_response_row(note) for note in scan.responses))
    _add(index, "gaps", ((name, gap.cause, gap.t_start_us, gap.t_end_us, gap.count) for gap in scan.gaps))
    _add(index, "damage", ((name, flaw.offset, flaw.problem) for flaw in scan.damage))


def _add(index: sqlite3.Connection, table: str, rows: Iterable[tuple[object, ...]]) -> None:
    marks = ", ".join("?" * len(_TABLES[table]))
    index.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608 - names from the table above


def _request_row(note: RequestNote) -> tuple[object, ...]:
    who = (_id(note.session_id), note.t_request_us, _id(note.agent_id), _id(note.parent_agent_id))
    return (
        *_place(note.place),
        _id(note.exchange_id),
        *who,
        _id(note.contributor),
        _id(note.model),
        note.api,
        note.purpose,
    )


def _response_row(note: ResponseNote) -> tuple[object, ...]:
    what = (note.status, note.end, note.t_end_us, note.input_tokens, note.output_tokens)
    return (*_place(note.place), _id(note.exchange_id), *what)


def _scan(index: sqlite3.Connection, file: Path) -> Scan:
    def rows(table: str) -> Iterator[tuple[Any, ...]]:
        query = f"SELECT * FROM {table} WHERE file = ? ORDER BY rowid"  # noqa: S608 - names from this function
        return iter(index.execute(query, (file.name,)))

    scan = Scan()
    for _, offset, end, number, *fields in rows("requests"):
        exchange, session, t_us, *rest = fields
        scan.requests.append(
            RequestNote(Place(file, offset, end, number), _text(exchange), _opt(session), t_us, *map(_opt, rest))  # type: ignore[arg-type]  # api and purpose are never null
        )
    for _, offset, end, number, exchange, *fields in rows("responses"):
        scan.responses.append(ResponseNote(Place(file, offset, end, number), _text(exchange), *fields))
    scan.gaps.extend(GapRecord(*fields) for _, *fields in rows("gaps"))
    scan.damage.extend(Damage(str(file), offset, problem) for _, offset, problem in rows("damage"))
    return scan


@contextlib.contextmanager
def _connected(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    index = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=10)
    try:
        index.execute("PRAGMA synchronous = OFF")
        yield index
    finally:
        index.close()


def _version(index: sqlite3.Connection) -> int:
    return int(index.execute("PRAGMA user_version").fetchone()[0])


def _state(index: sqlite3.Connection, file: Path) -> tuple[int, int] | None:
    row = index.execute("SELECT size, mtime_ns FROM files WHERE file = ?", (file.name,)).fetchone()
    return None if row is None else (row[0], row[1])


def _stat(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def _place(place: Place) -> tuple[str, int, int, int]:
    return place.file.name, place.offset, place.end, place.number


def _id(value: str | None) -> str | bytes | None:
    """Ids are other people's strings: with a lone surrogate, which SQLite's text refuses, they are stored as bytes."""
    if value is None or value.isprintable():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")
    return value


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def _opt(value: str | bytes | None) -> str | None:
    return None if value is None else _text(value)
