"""Reading segment files that may be torn, damaged or still growing.

A frame is decoded block by block, so a bad block costs what it and the blocks behind it hold, and nothing before it;
then the search for the next marker begins. A file that ends between two records is whole: the writer was killed there,
or is still at work. Every flaw is reported once, where it begins; nothing here raises on bad data.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import zstandard

from corpus.capture.segment import (
    KINDS,
    RECORD_HEAD,
    RECORD_MAGIC,
    VERSION,
    WINDOW_LOG,
    Marker,
    Record,
    decode_marker,
    find_marker,
    record_checksum,
)

_ZSTD_HEAD_MAX: Final = 18  # RFC 8878: magic number and frame header
_BLOCK_MAX: Final = 128 << 10  # RFC 8878: no block holds or makes more
_CUT: Final = "the file ends inside a record (writer killed, or still writing)"


@dataclass(frozen=True, slots=True)
class Flaw:
    """What could not be read, from this file offset on."""

    offset: int
    problem: str


@dataclass(frozen=True, slots=True)
class Frame:
    """`data[offset:end]` decodes to the same frame again, flaw included."""

    offset: int
    end: int
    marker: Marker
    records: tuple[Record, ...]
    flaw: Flaw | None


def read_frames(data: bytes, *, bodies: bool = True) -> Iterator[Frame | Flaw]:
    """Frames in file order; a `Flaw` of its own for bytes that belong to no frame. Without `bodies` these are b""."""
    nonce: bytes | None = None
    at = 0
    while at < len(data):
        found = decode_marker(data, at)
        if found is None:
            following = find_marker(data, at + 1, nonce)
            cut = following == len(data)
            yield Flaw(at, "no frame begins here" + (" (cut, or overwritten)" if cut else "; skipped to the next"))
            at = following
            continue
        marker, start = found
        nonce = marker.nonce
        raw = _decompress(data, start)
        records, flaw = _split(raw, bodies=bodies)
        end = find_marker(data, start, nonce) if flaw else raw.end
        yield Frame(at, end, marker, records, flaw)
        at = end


class _BlockError(Exception):
    """A block header that the writer cannot have written."""


@dataclass(frozen=True, slots=True)
class _Raw:
    """A decompressed frame: `starts[i]` in `data` is where the block at file offset `offsets[i]` begins."""

    data: bytearray
    starts: list[int]
    offsets: list[int]
    end: int
    flaw: Flaw | None

    def offset_of(self, position: int) -> int:
        return self.offsets[bisect_right(self.starts, position) - 1]


def _decompress(data: bytes, at: int) -> _Raw:
    whole = bytearray()  # grows in place: a list of pieces to be joined would hold a large frame twice
    starts: list[int] = []
    offsets: list[int] = []
    flaw = None
    stream = zstandard.ZstdDecompressor(max_window_size=1 << WINDOW_LOG).decompressobj()
    try:
        behind = at + zstandard.frame_header_size(data[at : at + _ZSTD_HEAD_MAX])
        stream.decompress(data[at:behind])
        at = behind
        while at < len(data) and not stream.eof:
            behind = _block_end(data, at)
            piece = stream.decompress(data[at:behind])
            starts.append(len(whole))
            offsets.append(at)
            whole += piece
            at = behind
    except (zstandard.ZstdError, _BlockError) as error:
        flaw = Flaw(at, str(error))
    return _Raw(whole, starts, offsets, at, flaw)


def _block_end(data: bytes, at: int) -> int:
    """RFC 8878, 3.1.1.2: 3 bytes: bit 0 last, bits 1-2 type (raw, run-length, compressed, reserved), then the size."""
    head = int.from_bytes(data[at : at + 3], "little")
    last, kind, size = head & 1, head >> 1 & 3, head >> 3
    end = at + 3 + (1 if kind == 1 else size)
    if at + 3 > len(data) or end > len(data):
        raise _BlockError(_CUT)
    if kind == 3 or size > _BLOCK_MAX or (size == 0 and not last):  # zeros are what a power cut leaves
        raise _BlockError("not a block of a segment file")
    return end


def _split(raw: _Raw, *, bodies: bool) -> tuple[tuple[Record, ...], Flaw | None]:
    view = memoryview(raw.data)
    records: list[Record] = []
    at = 0
    while at < len(view):
        record, end = _record_at(view, at, bodies=bodies)
        if record is None:
            problem = _CUT if end > len(view) else "bad checksum"
            return tuple(records), raw.flaw or Flaw(raw.offset_of(at), problem)
        records.append(record)
        at = end
    return tuple(records), raw.flaw or (None if records else Flaw(raw.end, "a frame without records"))


def _record_at(view: memoryview, at: int, *, bodies: bool) -> tuple[Record | None, int]:
    """The record and the offset behind it; without a record, an offset past the end says that it was cut."""
    start = at + RECORD_HEAD.size
    if start > len(view):
        return None, start
    magic, version, kind, meta_length, body_length, checksum = RECORD_HEAD.unpack_from(view, at)
    if magic != RECORD_MAGIC or version != VERSION or kind >= len(KINDS):
        return None, at
    middle = start + meta_length
    end = middle + body_length
    if end > len(view):
        return None, end
    meta, body = view[start:middle], view[middle:end]
    if record_checksum(kind, meta, body) != checksum:
        return None, at
    return Record(KINDS[kind], bytes(meta), bytes(body) if bodies else b""), end
