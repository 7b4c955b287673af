"""Foreign files as JSON values, each with the words that name its place; plain, gzip or zstd by the first bytes."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, cast

import orjson
import zstandard

from corpus.errors import InputError

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_COMPRESSED: Final = (".gz", ".zst")
_HEAD_BYTES: Final = 65536
_CHUNK_BYTES: Final = 65536


def kind_of(path: Path) -> str:
    """The suffix that says what is in the file: ".json" also for "a.json.gz"."""
    return Path(path.stem).suffix if path.suffix in _COMPRESSED else path.suffix


def read_head(path: Path) -> bytes:
    """The first 64 KiB, decompressed; empty when there is nothing to be read."""
    try:
        with opened(path) as file:
            return file.read(_HEAD_BYTES)
    except InputError:
        return b""


Parse = Callable[[bytes, str], object]


def parse(text: bytes, where: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InputError(
            where, f"is broken JSON ({error})", "the file is cut off or damaged; fetch it again"
        ) from error


def read_values(path: Path, parse: Parse = parse) -> Iterator[tuple[str, object]]:
    """The JSON values of a file that holds one a line; InputError names file and line."""
    with opened(path) as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                where = f"{path}: line {number}"
                yield where, parse(line, where)


def read_value(path: Path, parse: Parse = parse) -> object:
    """The JSON value that a file is."""
    with opened(path) as file:
        return parse(file.read(), str(path))


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader]:
    """The file's content, decompressed as it is read; InputError for what cannot be read or decompressed."""
    try:
        with path.open("rb") as raw, _decompressed(raw) as file:
            yield file
    except FileNotFoundError as error:
        raise InputError(path, "does not exist", "check the name") from error
    except (EOFError, zlib.error, zstandard.ZstdError, gzip.BadGzipFile) as error:
        raise InputError(path, f"cannot be decompressed ({error})", "the file is damaged; fetch it again") from error
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "check the file's permissions") from error


def _decompressed(raw: io.BufferedReader) -> io.BufferedReader:
    head = raw.peek(4)
    if head.startswith(_GZIP):
        return io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=raw)))
    if head.startswith(_ZSTD):
        return io.BufferedReader(_ZstdFile(raw))
    return raw


class _ZstdFile(io.RawIOBase):
    """Frames one after the other; unlike the library's own reader it does not take a cut frame for the end."""

    def __init__(self, packed: io.BufferedReader) -> None:
        self._packed = packed
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._input = b""
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # all that BufferedReader passes
        while not self._ready:
            self._input = self._input or self._packed.read(_CHUNK_BYTES)
            if not self._input:
                if not self._frame.eof:
                    raise EOFError("the last frame is cut off")
                return 0
            if self._frame.eof:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._ready = self._frame.decompress(self._input)
            self._input = self._frame.unused_data
        taken, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)
