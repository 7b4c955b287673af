"""Folders on object storage: brought here to be read, taken there when they are whole.

A corpus or a run is small beside what it was made from (some 30 bytes a request), so commands work on a local copy and
nothing else has to know of storage. There is no renaming on object storage: the file that makes the folder what it is
(a corpus' card, a run's summary) goes last, and leaves first when it is replaced: a reader finds the whole or nothing.

Keys come from where each storage's own programs look for them (environment, profile, machine); none may stand in a URL.
`AWS_ENDPOINT_URL` names another S3 server, which pyarrow does not read by itself.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlencode, urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from corpus.errors import InputError, OutputExistsError

SCHEMES: Final = ("s3", "gs", "file")
_CHUNK: Final = 8 << 20


def is_url(name: str) -> bool:
    return "://" in name and name.partition("://")[0].isalnum()


@dataclass(frozen=True, slots=True)
class Place:
    """A folder behind a URL. Every method raises InputError, with the URL and the storage's reason, when it fails."""

    url: str
    system: pafs.FileSystem
    path: str

    def sizes(self) -> dict[str, int]:
        """Bytes of every file directly in the folder, by name; empty when there is no such folder."""
        return {name: size for name, (size, _) in self.listing().items()}

    def listing(self) -> dict[str, tuple[int, int | None]]:
        """Bytes and time of the last change (ns, where the storage knows it) of the same files."""
        selector = pafs.FileSelector(self.path, allow_not_found=True)
        with _said(self.url):
            found: list[pafs.FileInfo] = self.system.get_file_info(selector)
        files = (one for one in found if one.type == pafs.FileType.File and not one.base_name.startswith("."))
        return {one.base_name: (one.size or 0, one.mtime_ns) for one in files}

    @property
    def parent(self) -> Place:
        return Place(self.url.rpartition("/")[0], self.system, self.path.rpartition("/")[0])

    def fetch(self, name: str, target: Path) -> None:
        with (
            _said(f"{self.url}/{name}"),
            self.system.open_input_stream(f"{self.path}/{name}") as source,
            open(target, "wb", opener=_private) as out,
        ):
            while chunk := source.read(_CHUNK):
                out.write(chunk)

    def store(self, name: str, source: Path, size: int | None = None) -> None:
        """The file, or its first `size` bytes; whole or not at all, whatever ends it."""
        is_local = isinstance(self.system, pafs.LocalFileSystem)
        target = f"{self.path}/{name}"
        aside = f"{self.path}/.{name}.{secrets.token_hex(8)}.partial" if is_local else target
        with _said(f"{self.url}/{name}"), source.open("rb") as stream:
            if is_local:  # object storage has no folders, and a key for this one alone may make none above it
                self.system.create_dir(self.path)
            try:
                with self.system.open_output_stream(aside) as out:
                    left = source.stat().st_size if size is None else size
                    while left and (chunk := stream.read(min(left, _CHUNK))):
                        out.write(chunk)
                        left -= len(chunk)
            except BaseException:  # a stream that is left early has been closed, and what it took is there
                with suppress(OSError, pa.ArrowException):
                    self.system.delete_file(aside)
                raise
            if is_local:
                self.system.move(aside, target)

    def remove(self, name: str) -> None:
        with _said(f"{self.url}/{name}"):
            self.system.delete_file(f"{self.path}/{name}")


def open_place(url: str) -> Place:
    """InputError for a URL of no known kind, or one that carries a key."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise InputError(url.partition("?")[0], f"is no place agentreel knows ({', '.join(SCHEMES)})")
    if parts.username or parts.password:
        shown = f"{parts.scheme}://...@{parts.hostname or ''}{parts.path}"
        raise InputError(shown, "carries a key", "set the storage's own environment variables instead")
    bare = f"{parts.scheme}://{parts.netloc}{quote(unquote(parts.path))}".rstrip("/")
    try:
        system, path = pafs.FileSystem.from_uri(bare + _endpoint(parts.scheme, parts.query))
    except (pa.ArrowInvalid, OSError, ValueError) as error:
        told = _first_line(error).replace(parts.query or "\n", "...")
        raise InputError(bare, f"cannot be opened ({told})") from error
    return Place(bare, system, path.rstrip("/"))


def fetch_folder(url: str, target: Path, wanted: Callable[[str], bool] = lambda _: True) -> int:
    """Copy every wanted file into `target` (made, for its owner only); the number of files. InputError for none."""
    place = open_place(url)
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    there = place.listing()
    names = [name for name in sorted(there) if wanted(name)]
    if not names:
        raise InputError(place.url, "holds nothing", "check the name, and that your key may list it")
    for name in names:
        place.fetch(name, target / name)
    if place.listing() != there:
        raise InputError(place.url, "was replaced while it was read", "try again")
    return len(names)


def refuse_existing_folder(place: Place, marker: str, *, force: bool) -> None:
    """Raise before long work what `store_folder` would raise after it."""
    there = place.sizes()
    if there and not force:
        raise OutputExistsError(place.url)
    if there and marker not in there:
        raise InputError(place.url, "holds other things, and is not replaced", "choose another name")


def store_folder(source: Path, place: Place, marker: str, *, force: bool) -> None:
    """All files of `source`, `marker` last; what is there is replaced with `force` if it is of the same kind."""
    refuse_existing_folder(place, marker, force=force)
    names = sorted((path.name for path in source.iterdir()), key=lambda name: (name == marker, name))
    there = place.sizes()
    for name in sorted(there, key=lambda name: (name != marker, name)):
        place.remove(name)
    for name in names:
        place.store(name, source / name)


def _endpoint(scheme: str, query: str) -> str:
    server = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if scheme != "s3" or "endpoint_override" in query or not server:
        return f"?{query}" if query else ""
    parts = urlsplit(server)
    added = urlencode({"endpoint_override": parts.netloc, "scheme": parts.scheme})
    return f"?{query}&{added}" if query else f"?{added}"


@contextmanager
def _said(where: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(where, _first_line(error), "check the name, the key and the network") from error


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0].partition(" (Request ID")[0]


def _private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)
