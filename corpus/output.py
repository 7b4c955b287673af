"""Outputs appear whole or not at all: written beside their place under a hidden name, then renamed.

An existing output is refused unless it may be replaced, and a folder is only ever replaced by one of its own kind, so
that `--force` with a mistyped path cannot empty somebody's home.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from corpus.errors import InputError, OutputExistsError


@contextmanager
def written_aside(path: Path, *, force: bool, replaceable: Callable[[Path], bool]) -> Iterator[Path]:
    """Yields a free path beside `path`; the file or folder made there takes `path`'s place on success.

    `replaceable(path)` says whether an existing folder is of the kind that is about to be written.
    OutputExistsError, or InputError when the place cannot be used, before anything is written.
    """
    refuse_existing(path, force=force, replaceable=replaceable)
    aside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    _make_parent(path)
    try:
        yield aside
        _take_place(aside, path)
    finally:
        _remove(aside)


def refuse_existing(path: Path, *, force: bool, replaceable: Callable[[Path], bool]) -> None:
    """The check alone, for commands that want to fail before they start long work."""
    if not os.path.lexists(path):
        return
    if not force:
        raise OutputExistsError(path)
    if path.is_dir() and any(path.iterdir()) and not replaceable(path):
        raise InputError(path, "is a folder that holds other things, and is not replaced", "choose another name")


def _make_parent(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(path, f"cannot be written here ({error.strerror})", "choose another place") from error
    if not os.access(path.parent, os.W_OK):
        raise InputError(path, "cannot be written here (no permission)", "choose another place")


def _take_place(aside: Path, path: Path) -> None:
    """A file replaces in one step; a folder has to be moved away first, and is put back if that fails."""
    if not path.is_dir() or path.is_symlink():
        aside.replace(path)
        return
    old = path.with_name(f".{path.name}.{os.getpid()}.old")
    path.rename(old)
    try:
        aside.rename(path)
    except OSError:
        old.rename(path)
        raise
    shutil.rmtree(old)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
