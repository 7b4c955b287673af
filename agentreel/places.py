"""What a person names as input or output may be a URL (`s3://`, `gs://`, `file://`) or a dataset of the hub (`hf:`):
commands see local paths only.

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
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import click

from corpus.errors import InputError

if TYPE_CHECKING:
    from corpus.place import Place

_CACHE_MODE = 0o700


class InputPlace(click.ParamType[Path]):
    """A path, or a URL whose folder is fetched; the command gets a path."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ARG002
        return value if isinstance(value, Path) else local_input(str(value))


def local_input(name: str) -> Path:
    """InputError when it is a URL, or a dataset of the hub, and nothing can be fetched from it."""
    if name.startswith("hf:"):
        return _from_hub(name)
    return _fetched(name) if "://" in name and not _file_path(name) else _file_path(name) or Path(name)


@contextmanager
def local_output(name: str, marker: str, *, force: bool) -> Iterator[Path]:
    """Yields where to write; what was written there goes to the URL when the block is left in peace.

    `marker` is the file that makes such a folder what it is. OutputExistsError before anything is done.
    """
    if "://" not in name or _file_path(name):
        yield _file_path(name) or Path(name)
        return
    from corpus.place import open_place, refuse_existing_folder

    place = open_place(name)
    refuse_existing_folder(place, marker, force=force)
    home = cache_folder() / hashlib.blake2b(place.url.encode(), digest_size=12).hexdigest()
    home.mkdir(mode=_CACHE_MODE, parents=True, exist_ok=True)
    target = home / place.path.rpartition("/")[2]
    if (target / marker).is_file():
        shutil.rmtree(target)  # finished by an earlier try, which could not take it there
    yield target
    try:
        _take_there(target, place, marker, force=force)
    except InputError as error:
        raise InputError(error.where, error.problem, f"{error.hint}; what was made lies whole in {target}") from error
    shutil.rmtree(home)


def work_place(name: str, purpose: str) -> Path:
    """Where work on what is named is kept between tries: hidden beside it, or below the user's cache for a URL."""
    if "://" in name and not _file_path(name):
        return cache_folder() / f"{hashlib.blake2b(name.encode(), digest_size=12).hexdigest()}.{purpose}"
    path = local_input(name)
    return path.with_name(f".{path.name}.{purpose}")


def _take_there(target: Path, place: Place, marker: str, *, force: bool) -> None:
    """With what only the owner may know, beside it as it is here; the old one goes first, since it is another's."""
    from anonymize.contributions import contributions_path
    from corpus.place import store_folder

    known = contributions_path(target)
    if known.name in place.parent.sizes():
        place.parent.remove(known.name)
    store_folder(target, place, marker, force=force)
    if known.is_file():
        place.parent.store(known.name, known)


@cache
def _from_hub(name: str) -> Path:
    from agentreel.hub_source import cached_dataset

    return cached_dataset(name)


@cache
def _fetched(url: str) -> Path:
    from anonymize.contributions import contributions_path
    from corpus.card import CARD_NAME
    from corpus.place import fetch_folder, open_place

    place = open_place(url)
    home = Path(tempfile.mkdtemp(prefix="agentreel-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    target = home / (place.path.rpartition("/")[2] or "fetched")
    fetch_folder(url, target)
    known = contributions_path(target)
    if (target / CARD_NAME).is_file() and known.name in place.parent.sizes():
        place.parent.fetch(known.name, known)
    return target


def _file_path(name: str) -> Path | None:
    parts = urlsplit(name) if name.startswith("file://") else None
    return Path(unquote(parts.path)) if parts else None


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agentreel"
