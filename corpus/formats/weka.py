"""WEKA traces as files: one JSON object a session, in a `.json` file, one a line in `.jsonl`, or a folder of either.

What the objects mean is in `weka_reader`, what they may hold in `weka_shape`, what is lost when a captured session
becomes one in `weka_export`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import orjson

from corpus.card import CARD_NAME
from corpus.errors import InputError
from corpus.formats.files import kind_of, read_head, read_value, read_values
from corpus.formats.separate import separate_conversations
from corpus.formats.trace_rows import Tally, Written
from corpus.formats.weka_reader import session_from_weka
from corpus.formats.weka_text import parse_trace
from corpus.formats.weka_writer import session_to_weka
from corpus.output import written_aside
from corpus.session import Session, WekaDialect

__all__ = ["Written", "is_weka", "read_weka", "session_from_weka", "session_to_weka", "write_weka"]

_SUFFIXES: Final = (".json", ".jsonl")
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")


def is_weka(path: Path) -> bool:
    """Whether a file, or any file of a folder, looks like a WEKA trace; it may still be broken."""
    if path.is_dir():
        return not (path / CARD_NAME).exists() and any(map(_looks_like_weka, _files_of(path)))
    return path.is_file() and kind_of(path) in _SUFFIXES and _looks_like_weka(path)


def read_weka(path: Path, dialect: WekaDialect | None = None) -> Iterator[Session]:
    """Sessions numbered from 0, files of a folder by name; InputError names file, line or JSON place.

    `dialect` overrides what the objects themselves suggest.
    """
    names: dict[str, str] = {}
    for number, (where, found) in enumerate(_objects(path)):
        session = session_from_weka(found, where, number, dialect)
        if session.label in names:
            problem = f"{session.label!r} is already the id of {names[session.label]}"
            raise InputError(f"{where}: id", problem, "give each session an id of its own")
        names[session.label] = where
        yield session
    if not names:
        raise InputError(path, "holds no WEKA session (.json or .jsonl)", "name a trace file or a folder of them")


def write_weka(path: Path, sessions: Iterable[Session], *, force: bool = False) -> Written:
    """Write one `.json` (exactly one session), one `.jsonl`, or, for any other name, a folder of `<id>.json`."""
    sessions = (part for session in sessions for part in separate_conversations(session))
    with written_aside(path, force=force, replaceable=_holds_only_traces) as aside:
        if path.suffix == ".json":
            return _write_one(path, aside, sessions)
        if path.suffix == ".jsonl":
            return _write_lines(aside, sessions)
        return _write_folder(aside, sessions)


def _objects(path: Path) -> Iterator[tuple[str, object]]:
    if not path.exists():
        raise InputError(path, "does not exist", "check the name")
    for file in _files_of(path) if path.is_dir() else [path]:
        if kind_of(file) == ".jsonl":
            yield from read_values(file, parse_trace)
        else:
            yield str(file), read_value(file, parse_trace)


def _files_of(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if kind_of(file) in _SUFFIXES and not file.name.startswith("."))


def _looks_like_weka(file: Path) -> bool:
    head = read_head(file)
    if b'"schema"' in head:  # of another format, whose header states a scope of its ids as well
        return False
    return b'"hash_id_scope"' in head or (b'"requests"' in head and b'"hash_ids"' in head)


def _holds_only_traces(folder: Path) -> bool:
    return all(file.suffix in _SUFFIXES and file.is_file() for file in folder.iterdir()) and is_weka(folder)


def _encode(session: Session, tally: Tally) -> bytes | None:
    """The session as JSON, None when WEKA could hold nothing of it; counts either."""
    trace = session_to_weka(session)
    tally.add(len(session.requests), sum(len(entry.get("requests", (entry,))) for entry in trace["requests"]))
    return orjson.dumps(trace, option=orjson.OPT_APPEND_NEWLINE) if trace["requests"] else None


def _write_one(path: Path, aside: Path, sessions: Iterable[Session]) -> Written:
    tally = Tally()
    for session in sessions:
        encoded = _encode(session, tally)
        if tally.sessions > 1:
            raise InputError(path, "holds one session, there are more", "name a .jsonl file or a folder")
        if encoded is not None:
            aside.write_bytes(encoded)
    if not tally.sessions:
        raise InputError(path, "there is no session to write", "check the source")
    return tally.written()


def _write_lines(aside: Path, sessions: Iterable[Session]) -> Written:
    tally = Tally()
    with aside.open("wb") as lines:
        for session in sessions:
            lines.write(_encode(session, tally) or b"")
    return tally.written()


def _write_folder(aside: Path, sessions: Iterable[Session]) -> Written:
    tally = Tally()
    aside.mkdir()
    taken: set[str] = set()
    for session in sessions:
        encoded = _encode(session, tally)
        if encoded is not None:
            (aside / f"{_file_name(session.label, taken)}.json").write_bytes(encoded)
    return tally.written()


def _file_name(label: str, taken: set[str]) -> str:
    """A file name from a foreign id: no separators, no leading dot, none twice (not even by case)."""
    stem = _UNSAFE.sub("_", label).lstrip(".")[:100] or "session"
    name, count = stem, 1
    while name.lower() in taken:
        count += 1
        name = f"{stem}-{count}"
    taken.add(name.lower())
    return name
