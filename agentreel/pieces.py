"""What a build has done so far: one file per session, written whole, good for as long as nothing it came from changed.

A piece holds a session's rows and counts behind a manifest of three digests: the captured bytes that went in, the code
that worked on them, and the settings. A build that was killed and is started again takes every piece whose manifest
still says the same, and makes the others anew. The folder stands beside the corpus under a hidden name, for its owner
only, holds integers and listed words as the corpus does, and goes when the corpus is finished. What it has beyond a
corpus is for `anonymize.heads`: digests of the harness's part of prompts, and a key for them that all tasks share.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson
import zstandard

import anonymize
import corpus
import dagbuild
import wire
from anonymize.digests import KEY_BYTES
from anonymize.heads import Head
from corpus.capture.directory import session_stem
from corpus.errors import InputError
from corpus.rows import Row, rows_of, session_of
from corpus.session import Session

_SUFFIX: Final = ".piece"
_COMMON_KEY: Final = "common.key"
_TABLES: Final = ("agents", "requests", "tool_calls", "edges")
_LEVEL: Final = 3  # of zstd


@dataclass(frozen=True, slots=True)
class Manifest:
    """Digests of what decides a piece; equal manifests mean equal pieces."""

    input: str
    code: str
    config: str


@dataclass(frozen=True, slots=True)
class Piece:
    manifest: Manifest
    rejected: dict[str, int]  # exchanges by reason
    audit: dict[str, bool]  # live audit tests that ran on this session
    damage: tuple[tuple[str, int, str], ...]  # file, offset and problem of what could not be read
    session: Session | None  # numbered 0; None when no exchange was kept
    head: Head | None = None  # what it may have in common with other people's sessions


@contextmanager
def work_folder(corpus_path: Path) -> Iterator[Path]:
    """The folder of the pieces of this corpus; InputError while another build works there.

    It goes when the block is left in peace, and stays for the next build otherwise.
    """
    folder = corpus_path.with_name(f".{corpus_path.name}.build")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(folder, f"cannot be made ({error.strerror})", "choose another place for the corpus") from error
    with (folder / "lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(corpus_path, "is being built by another process", "wait for it, or stop it") from error
        yield folder
        shutil.rmtree(folder)


def common_key(folder: Path) -> bytes:
    """One for all pieces of a folder, made by whoever asks first; it lives as long as they do."""
    path = folder / _COMMON_KEY
    if not path.exists():
        aside = _aside(path)
        with open(aside, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(secrets.token_bytes(KEY_BYTES))
        with suppress(FileExistsError):
            os.link(aside, path)
        aside.unlink()
    return path.read_bytes()


def piece_path(folder: Path, session_ids: Iterable[str | None]) -> Path:
    """Ids are other people's strings, so the name is a digest of them."""
    stems = "\0".join(session_stem(session_id) for session_id in session_ids)
    return folder / (hashlib.blake2b(stems.encode(), digest_size=16).hexdigest() + _SUFFIX)


def read_piece(path: Path, manifest: Manifest | None = None) -> Piece | None:
    """None when there is no piece, it is damaged, or it was made from something else than `manifest` says."""
    try:
        values: dict[str, Any] = orjson.loads(zstandard.ZstdDecompressor().decompress(path.read_bytes()))
        made_from = Manifest(**values["manifest"])
        if manifest is not None and made_from != manifest:
            return None
        rows = values.pop("rows")
        values |= {"manifest": made_from, "damage": tuple(tuple(one) for one in values["damage"])}
        values["head"] = values["head"] and Head(values["head"][0], dict(values["head"][1]))
        return Piece(**values, session=None if rows is None else _session(rows))
    except (OSError, zstandard.ZstdError, orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return None


def piece_bytes(piece: Piece) -> bytes:
    """A piece as it is written, before it is packed."""
    values = {
        "manifest": asdict(piece.manifest),
        "rejected": piece.rejected,
        "audit": piece.audit,
        "damage": piece.damage,
        "head": piece.head and [piece.head.contributor, list(piece.head.blocks.items())],
        "rows": None if piece.session is None else rows_of(piece.session),
    }
    return orjson.dumps(values)


def write_piece(path: Path, plain: bytes) -> bytes:
    """Whole or not at all; returns what was written."""
    packed = zstandard.ZstdCompressor(level=_LEVEL, write_content_size=True).compress(plain)
    aside = _aside(path)
    with open(aside, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(packed)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
    return packed


def digest_files(files: Iterable[Path]) -> str:
    """Of their names and bytes, in the order given."""
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        with file.open("rb") as stream:
            content = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16))
        digest.update(orjson.dumps([file.name, content.hexdigest()]))
    return digest.hexdigest()


@cache
def code_digest() -> str:
    """Of the sources that decide what a piece holds; a version number alone would not notice an edit."""
    rooms = [Path(str(room.__file__)).parent for room in (anonymize, corpus, dagbuild, wire)]
    files = (file for room in rooms for file in room.rglob("*.py") if file.parent.name != "formats")
    return digest_files(sorted(files))


def _aside(path: Path) -> Path:
    """A name of one's own: on several machines process ids are not unique."""
    return path.with_suffix(f".{secrets.token_hex(8)}.partial")


def _session(rows: dict[str, list[Row]]) -> Session:
    return session_of(rows["sessions"][0], {name: iter(rows[name]) for name in _TABLES})
