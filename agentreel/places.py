"""What a person names as input or output may be a URL (`s3://`, `gs://`, `file://`): commands see local paths only.

An input is copied once a process into a private folder that goes with it. An output is made under the user's cache, at
a place that depends on its URL alone, so that a build that was killed goes on there, and leaves when it is whole.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import click

_CACHE_MODE = 0o700


class InputPlace(click.ParamType[Path]):
    """A path, or a URL whose folder is fetched; the command gets a path."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ARG002
        return value if isinstance(value, Path) else local_input(str(value))


def local_input(name: str) -> Path:
    """InputError when it is a URL and nothing can be fetched from it."""
    return _fetched(name) if "://" in name and not _file_path(name) else _file_path(name) or Path(name)


@contextmanager
def local_output(name: str, marker: str, *, force: bool) -> Iterator[Path]:
    """Yields where to write; what was written there goes to the URL when the block is left in peace.

    `marker` is the file that makes such a folder what it is. OutputExistsError before anything is done.
    """
    if "://" not in name or _file_path(name):
        yield _file_path(name) or Path(name)
        return
    from corpus.place import open_place, refuse_existing_folder, store_folder

    place = open_place(name)
    refuse_existing_folder(place, marker, force=force)
    home = _cache() / hashlib.blake2b(place.url.encode(), digest_size=12).hexdigest()
    home.mkdir(mode=_CACHE_MODE, parents=True, exist_ok=True)
    target = home / place.path.rpartition("/")[2]
    yield target
    store_folder(target, place, marker, force=force)
    shutil.rmtree(home)


@cache
def _fetched(url: str) -> Path:
    from corpus.place import fetch_folder, open_place

    place = open_place(url)
    home = Path(tempfile.mkdtemp(prefix="agentreel-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    target = home / (place.path.rpartition("/")[2] or "fetched")
    fetch_folder(url, target)
    return target


def _file_path(name: str) -> Path | None:
    parts = urlsplit(name) if name.startswith("file://") else None
    return Path(unquote(parts.path)) if parts else None


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agentreel"
