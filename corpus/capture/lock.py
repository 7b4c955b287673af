"""Keeps captures from being rewritten while a recorder appends to them.

Recorders hold the directory's marker file together, whoever wants to delete from it holds it alone. The lock goes with
the process that holds it, so a crash leaves none behind. Where the file system has no such locks there is none.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from corpus.capture.directory import MARKER_NAME
from corpus.errors import InputError

_NO_LOCKS: Final = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS})


class WriterLock:
    """Held until `release`; InputError while somebody deletes from these captures."""

    def __init__(self, directory: Path) -> None:
        self._descriptor: int | None = os.open(directory / MARKER_NAME, os.O_RDONLY | os.O_CLOEXEC)
        _lock(self._descriptor, fcntl.LOCK_SH, directory, "captures are being pruned just now", "try again")

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


@contextlib.contextmanager
def held_alone(directory: Path) -> Iterator[None]:
    """InputError while a recorder writes here."""
    descriptor = os.open(directory / MARKER_NAME, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _lock(descriptor, fcntl.LOCK_EX, directory, "a recorder is writing here", "stop it first")
        yield
    finally:
        os.close(descriptor)


def is_recording(directory: Path) -> bool:
    """Whether a recorder writes here just now; False where the file system has no locks."""
    try:
        with held_alone(directory):
            return False
    except InputError:
        return True


def _lock(descriptor: int, kind: int, directory: Path, problem: str, hint: str) -> None:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise InputError(directory, problem, hint) from error
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
