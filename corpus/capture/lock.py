"""Keeps captures from being rewritten while a recorder appends to them.

Recorders hold the directory's marker file together, whoever wants to delete from it holds it alone. The lock goes with
the process that holds it, so a crash leaves none behind. Where the file system has no such locks there is none.

Whether somebody records can only be asked by taking the lock for a moment; a recorder that starts in that moment waits
it out.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from corpus.capture.directory import MARKER_NAME
from corpus.errors import InputError

_PATIENCE: Final = 40  # tries, so a fifth of a second; whoever prunes takes longer
_PAUSE_S: Final = 0.005
_NO_LOCKS: Final = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS})


class WriterLock:
    """Held until `release`; InputError while somebody deletes from these captures."""

    def __init__(self, directory: Path) -> None:
        self._descriptor: int | None = os.open(directory / MARKER_NAME, os.O_RDONLY | os.O_CLOEXEC)
        for _ in range(_PATIENCE):
            with contextlib.suppress(BlockingIOError):
                _lock(self._descriptor, fcntl.LOCK_SH)
                return
            time.sleep(_PAUSE_S)
        self.release()
        raise InputError(directory, "captures are being pruned just now", "try again")

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


@contextlib.contextmanager
def held_alone(directory: Path) -> Iterator[None]:
    """InputError while a recorder writes here."""
    descriptor = os.open(directory / MARKER_NAME, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            _lock(descriptor, fcntl.LOCK_EX)
        except BlockingIOError as error:
            raise InputError(directory, "a recorder is writing here", "stop it first") from error
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


def _lock(descriptor: int, kind: int) -> None:
    """BlockingIOError when others hold it; silent where there are no locks."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
