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

from corpus.capture.repeats import Slots, take
from corpus.capture.segment import (
    FRAME_END,
    KINDS,
    RECORD_HEAD,
    RECORD_MAGIC,
    REPEATING,
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
        decoding = _Decoding(data, start, bodies=bodies)
        records = tuple(decoding.records())
        end = find_marker(data, start, nonce) if decoding.flaw else decoding.end
        yield Frame(at, end, marker, records, decoding.flaw)
        at = end


def first_records(data: bytes, *, bodies: bool = True) -> Iterator[Record]:
    """The records of the frame that `data` begins with, decoded as they are taken; none when it is no frame."""
    found = decode_marker(data, 0)
    if found is not None:
        yield from _Decoding(data, found[1], bodies=bodies).records()


def finished_bytes(data: bytes) -> int:
    """Up to where the frames are closed for good: all of a file whose writer ended it, all but the last frame else.

    Looks for markers and at the end of the file alone; damage is copied as it is, and told by whoever reads.
    """
    marker = find_marker(data, 0, None)
    found = decode_marker(data, marker)
    if found is None:
        return 0
    last = marker
    while (following := find_marker(data, last + 1, found[0].nonce)) < len(data):
        last = following
    return len(data) if data.endswith(FRAME_END) else last


class _BlockError(Exception):
    """A block header that the writer cannot have written."""


class _RecordError(Exception):
    """Bytes that no writer wrote as a record, or none that this code knows."""


class _Decoding:
    """A frame whose zstd part begins at offset `at`; holds no more at a time than one record, one block and the slots
    of repeated bodies."""

    def __init__(self, data: bytes, at: int, *, bodies: bool) -> None:
        self.flaw: Flaw | None = None  # known when `records` is exhausted, as is:
        self.end = at
        self._data = data
        self._bodies = bodies
        self._slots = Slots()
        # Position in the decoded frame where a block begins -> offset of that block in `data`.
        self._starts: list[int] = []
        self._offsets: list[int] = []

    def records(self) -> Iterator[Record]:
        waiting = bytearray()  # decoded, and in no record yet
        taken = 0  # bytes of the frame before that
        count = 0
        size = RECORD_HEAD.size
        for piece in self._blocks():
            self._starts.append(taken + len(waiting))
            waiting += piece
            while len(waiting) >= size:
                try:
                    record, size = self._first_record(waiting)
                except _RecordError as error:
                    self._fail(taken, str(error))
                    return
                if record is not None:
                    yield record
                    count += 1
                    del waiting[:size]
                    taken += size
                    size = RECORD_HEAD.size
        if waiting:
            self._fail(taken, _CUT)
        elif not count and self.flaw is None:
            self.flaw = Flaw(self.end, "a frame without records")

    def _first_record(self, waiting: bytearray) -> tuple[Record | None, int]:
        """The record that bytes begin with, and its size; without a record, the size that more bytes have to reach."""
        with memoryview(waiting) as view:
            magic, version, kind, meta_length, stored_length, checksum = RECORD_HEAD.unpack_from(view)
            if magic != RECORD_MAGIC or version not in (VERSION, REPEATING) or kind >= len(KINDS):
                raise _RecordError("not a record that this agentreel knows")
            middle = RECORD_HEAD.size + meta_length
            end = middle + stored_length
            if end > len(view):
                return None, end
            with view[RECORD_HEAD.size : middle] as meta, view[middle:end] as stored:
                body = self._repeated(stored) if version == REPEATING else stored
                if record_checksum(version, kind, meta, body) != checksum:
                    raise _RecordError("bad checksum")
                return Record(KINDS[kind], bytes(meta), bytes(body) if self._bodies else b""), end

    def _repeated(self, stored: memoryview) -> bytes:
        """Takes its slot before its checksum is known: behind a bad one nothing more of the frame is read."""
        try:
            slot, body = take(stored, self._slots.bodies)
        except ValueError as error:
            raise _RecordError(f"a repeated body that cannot be put together: {error}") from None
        self._slots.put(slot, body)
        return body

    def _fail(self, position: int, problem: str) -> None:
        if self.flaw is None:
            self.flaw = Flaw(self._offsets[bisect_right(self._starts, position) - 1], problem)

    def _blocks(self) -> Iterator[bytes]:
        data, at = self._data, self.end
        stream = zstandard.ZstdDecompressor(max_window_size=1 << WINDOW_LOG).decompressobj()
        try:
            behind = at + zstandard.frame_header_size(data[at : at + _ZSTD_HEAD_MAX])
            stream.decompress(data[at:behind])
            at = behind
            while at < len(data) and not stream.eof:
                behind = _block_end(data, at)
                piece = stream.decompress(data[at:behind])
                self._offsets.append(at)
                self.end = at = behind
                yield piece
        except (zstandard.ZstdError, _BlockError) as error:
            self.flaw = Flaw(at, str(error))
        self.end = at


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
