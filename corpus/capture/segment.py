"""The layout of a segment file: frames of compressed records, each frame behind a marker that can be found again.

    segment = frame*
    frame   = marker, zstd frame of up to 64 records
    marker  = zstd skippable frame: "AgSg", version, nonce, JSON (session, worker, time), XXH3-64
    record  = "AgRc", version, kind, lengths of meta and stored body, XXH3-64 of all the rest, meta (JSON), stored body

A record of version 1 stores its body as it is. One of version 2 is a request that repeats an earlier one of its frame;
`corpus.capture.repeats` says what is stored of it, and the checksum is that of the whole body either way. A window
longer than a body takes care of what else repeats.

A block ends with every record, so whatever was handed to the kernel can be read after a crash. A new frame starts every
64 records (or 64 MiB of what is stored): that bounds what one damaged byte can cost, and what a reader decodes to reach
one record. Markers let a reader go on behind damage, and the file stays an ordinary zstd stream; the
nonce, random per run of the recorder, keeps a marker inside some body from being taken for the file's own.

Level 3, window 2^23 and 64 records a frame were measured on Claude-Code-like sessions; a window below the size of a
body is useless, a larger one costs memory for little. Long-distance matching would save a few per cent more, and a
fifth with twelve agents that say the same, but make a session's first body cost 1.4 times as much.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, Literal

import xxhash
import zstandard

from corpus.capture.meta import dump_json, load_json
from corpus.capture.repeats import Shelf

Kind = Literal["request", "response", "gap"]

VERSION: Final = 1  # of markers, and of records stored as they are
REPEATING: Final = 2  # version of records that may repeat another
WINDOW_LOG: Final = 23
FRAME_RECORDS: Final = 64
FRAME_BYTES: Final = 64 << 20  # stored, uncompressed; a frame ends with the record that passes it
FRAME_END: Final = b"\x01\x00\x00"  # an empty last block: ends a zstd frame at any block boundary

RECORD_HEAD: Final = struct.Struct("<4sBBIQQ")  # magic, version, kind, length of meta, length of stored body, checksum
RECORD_MAGIC: Final = b"AgRc"
KINDS: Final[tuple[Kind, ...]] = ("request", "response", "gap")

_TABLES_BYTES: Final = 1 << 20  # of a compressor, beside its window; measured

_PARAMETERS = zstandard.ZstdCompressionParameters.from_level(3, window_log=WINDOW_LOG)
_SKIPPABLE = struct.Struct("<II")  # magic number, length of what follows
_SKIPPABLE_MAGIC = 0x184D2A5A
_MARKER_HEAD = struct.Struct("<4sB8s")
_MARKER_MAGIC = b"AgSg"
_CHECKSUM = struct.Struct("<Q")
_MARKER_START = _SKIPPABLE_MAGIC.to_bytes(4, "little")


@dataclass(frozen=True, slots=True)
class Marker:
    """Opens every frame and says whose records follow; `t_us` is the time of the first of them."""

    nonce: bytes  # 8 random bytes, the same all through a file and a run of the recorder
    session_id: str | None
    worker: str
    t_us: int


@dataclass(frozen=True, slots=True)
class Record:
    kind: Kind
    meta: bytes
    body: bytes


class FrameEncoder:
    """Encodes one frame, record by record; each piece ends on a block boundary and has to be written whole."""

    def __init__(self, marker: Marker) -> None:
        self._head = encode_marker(marker)
        self._stream = zstandard.ZstdCompressor(compression_params=_PARAMETERS).compressobj()
        self._shelf = Shelf()
        self._records = 0
        self._bytes = 0

    @property
    def full(self) -> bool:
        """True: write FRAME_END and go on with a new encoder."""
        return self._records >= FRAME_RECORDS or self._bytes >= FRAME_BYTES

    @property
    def held_bytes(self) -> int:
        """Of memory: the compressor's, which holds up to a window of what went through it, and the slots'."""
        return _TABLES_BYTES + min(self._bytes, 1 << WINDOW_LOG) + self._shelf.held_bytes

    def encode(self, record: Record) -> bytes:
        stored = self._stored(record)
        pieces = [self._head, *map(self._stream.compress, stored)]
        pieces.append(self._stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))
        self._head = b""
        self._records += 1
        self._bytes += sum(map(len, stored))
        return b"".join(pieces)

    def _stored(self, record: Record) -> list[bytes]:
        repeating = self._shelf.put(record.body) if record.kind == "request" else None
        if repeating is None:
            return [record_head(record, VERSION, len(record.body)), record.meta, record.body]
        return [record_head(record, REPEATING, sum(map(len, repeating))), record.meta, *repeating]


def record_head(record: Record, version: int, stored_length: int) -> bytes:
    kind = KINDS.index(record.kind)
    checksum = record_checksum(version, kind, record.meta, record.body)
    return RECORD_HEAD.pack(RECORD_MAGIC, version, kind, len(record.meta), stored_length, checksum)


def record_checksum(version: int, kind: int, meta: bytes | memoryview, body: bytes | memoryview) -> int:
    state = xxhash.xxh3_64(RECORD_HEAD.pack(RECORD_MAGIC, version, kind, len(meta), len(body), 0))
    state.update(meta)
    state.update(body)
    return int(state.intdigest())


def encode_marker(marker: Marker) -> bytes:
    text = dump_json({"session_id": marker.session_id, "worker": marker.worker, "t_us": marker.t_us})
    content = _MARKER_HEAD.pack(_MARKER_MAGIC, VERSION, marker.nonce) + text
    content += _CHECKSUM.pack(xxhash.xxh3_64_intdigest(content))
    return _SKIPPABLE.pack(_SKIPPABLE_MAGIC, len(content)) + content


def decode_marker(data: bytes, at: int) -> tuple[Marker, int] | None:
    """The marker at offset `at` and the offset behind it; None when no whole, sound marker stands there."""
    start = at + _SKIPPABLE.size
    if not data.startswith(_MARKER_START, at) or start > len(data):
        return None
    end = start + _SKIPPABLE.unpack_from(data, at)[1]
    sum_at = end - _CHECKSUM.size
    if end > len(data) or sum_at < start + _MARKER_HEAD.size:
        return None
    if xxhash.xxh3_64_intdigest(data[start:sum_at]) != _CHECKSUM.unpack_from(data, sum_at)[0]:
        return None
    magic, version, nonce = _MARKER_HEAD.unpack_from(data, start)
    if magic != _MARKER_MAGIC or version != VERSION:
        return None
    try:
        values = load_json(data[start + _MARKER_HEAD.size : sum_at])
        return Marker(nonce, values["session_id"], values["worker"], values["t_us"]), end
    except (ValueError, KeyError, TypeError):
        return None


def find_marker(data: bytes, at: int, nonce: bytes | None) -> int:
    """Offset of the next sound marker with this nonce (any, when None) from `at` on; the length of `data` when none."""
    while (at := data.find(_MARKER_START, at)) >= 0:
        found = decode_marker(data, at)
        if found and nonce in (None, found[0].nonce):
            return at
        at += 1
    return len(data)
