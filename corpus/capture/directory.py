"""What makes a directory a capture directory, and how its segment files are called.

A marker file with the format's version says so; nothing is written into, or read from, a directory that lacks it.
Session ids are other people's strings: a file name shows their harmless part for the eye and a digest of the whole
to keep them apart.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from pathlib import Path
from typing import Any, Final

import orjson

from corpus.errors import InputError

FORMAT: Final = "agentreel captures"
FORMAT_VERSION: Final = 2  # 1 knew no requests that repeat one before
MARKER_NAME: Final = "captures.json"
SEGMENT_SUFFIX: Final = ".segment"


class EverySession:
    """Not the same as None, which is the session of requests that name none."""


EVERY_SESSION: Final = EverySession()

_ASIDE: Final = ".captures.json."  # marker files on their way
_SHOWN: Final = 40  # characters of a session id that a file name shows


def is_captures(path: Path) -> bool:
    return (path / MARKER_NAME).is_file()


def require_captures(path: Path) -> None:
    """InputError unless `path` is a capture directory of a version this code reads."""
    if not path.exists():
        raise InputError(path, "does not exist", "give a directory that `agentreel record` wrote")
    if not is_captures(path):
        raise InputError(path, f"is not a capture directory (no {MARKER_NAME})")
    marker = path / MARKER_NAME
    try:
        values: Any = orjson.loads(marker.read_bytes())
    except OSError as error:
        raise InputError(marker, f"cannot be read: {error.strerror}") from error
    except orjson.JSONDecodeError as error:
        raise InputError(marker, "is not JSON", "restore it, or give another directory") from error
    version = values.get("version") if isinstance(values, dict) and values.get("format") == FORMAT else None
    if not isinstance(version, int) or version < 1:
        raise InputError(marker, "does not describe a capture directory")
    if version > FORMAT_VERSION:
        problem = f"format version {version} is newer than {FORMAT_VERSION}, the newest this agentreel reads"
        raise InputError(marker, problem, "update agentreel")


def prepare_captures(path: Path) -> None:
    """Make `path` a capture directory, or accept it as one; several processes may do so at once.

    InputError when it is something else: a file, or a directory that holds other things. OSError as it comes.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise InputError(path, "is not a directory", "choose another name for the captures") from error
    if is_captures(path):
        require_captures(path)
        return
    if any(not entry.name.startswith(_ASIDE) for entry in path.iterdir()) and not is_captures(path):
        raise InputError(path, "is neither empty nor a capture directory", "choose another directory")
    aside = path / (_ASIDE + secrets.token_hex(8))
    content = orjson.dumps({"format": FORMAT, "version": FORMAT_VERSION}) + b"\n"
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path / MARKER_NAME)


def session_stem(session_id: str | None) -> str:
    """The start of the names of all segment files of a session, up to the first dot."""
    if session_id is None:
        return "no-session"
    shown = re.sub(r"[^A-Za-z0-9_-]", "-", session_id[:_SHOWN]).strip("-")
    digest = hashlib.blake2b(session_id.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    return f"{shown}-{digest}".lstrip("-")


def segment_name(session_id: str | None, worker: str, run: str) -> str:
    """`worker` and `run` are our own short words: letters, digits, dash and underscore (else ValueError)."""
    for word in (worker, run):
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", word):
            raise ValueError(f"not a worker or run name: {word!r}")
    return f"{session_stem(session_id)}.{worker}.{run}{SEGMENT_SUFFIX}"


def segment_files(path: Path, session_id: str | EverySession | None = EVERY_SESSION) -> list[Path]:
    stem = "" if isinstance(session_id, EverySession) else session_stem(session_id) + "."
    with os.scandir(path) as entries:  # names first: a path object for each file of a large directory takes long
        names = sorted(one.name for one in entries if one.name.startswith(stem) and one.name.endswith(SEGMENT_SUFFIX))
    return [path / name for name in names]


def segments_by_stem(path: Path) -> dict[str, list[Path]]:
    """The segment files of every session, by its `session_stem`: for whoever goes through many sessions."""
    found: dict[str, list[Path]] = {}
    for file in segment_files(path):
        found.setdefault(file.name.partition(".")[0], []).append(file)
    return found
