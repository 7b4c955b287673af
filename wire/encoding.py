"""Content codings of HTTP bodies, undone.

Recorded bodies are what was on the wire: compressed, and cut where a stream broke. So a cut body is no error: what can
be decoded comes back. Nothing is ever inflated past the limit: every decoder is asked for one bounded piece at a time.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Generator, Iterator
from typing import Final

import brotli  # type: ignore[import-untyped]  # ships no types
import zstandard

from wire.errors import WireError

DEFAULT_LIMIT: Final = 256 * 1024 * 1024  # bytes
_PIECE: Final = 1024 * 1024  # bytes asked of a decoder at a time
_FED: Final = 64 * 1024  # bytes given to zlib at a time; bounds what it hands back unread
_ZSTD_MAX_WINDOW: Final = 1 << 27  # bytes; RFC 9659 allows 8 MiB on the web, long-window senders use up to 128 MiB
_MAGIC: Final = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"))


def decode_body(data: bytes, content_encoding: str | None, limit: int = DEFAULT_LIMIT) -> bytes:
    """`data` with its codings undone, last applied first; without a header gzip and zstd are known by their magic."""
    for coding in _codings(data, content_encoding):
        data = _join(_DECODERS[coding](data), limit)
    if len(data) > limit:
        raise WireError(f"body is larger than {limit} bytes")
    return data


def _codings(data: bytes, header: str | None) -> list[str]:
    if not header or not header.strip():
        return [coding for magic, coding in _MAGIC if data.startswith(magic)]
    names = [name.strip().lower() for name in header.split(",")]
    unknown = [name for name in names if name and name != "identity" and name not in _DECODERS]
    if unknown:
        raise WireError(f"content coding {unknown[0][:40]!r} is not known")
    return [name for name in reversed(names) if name and name != "identity"]


def _join(pieces: Iterator[bytes], limit: int) -> bytes:
    out: list[bytes] = []
    size = 0
    try:
        for piece in pieces:
            out.append(piece)
            size += len(piece)
            if size > limit:
                raise WireError(f"decoded body is larger than {limit} bytes")
    except (zlib.error, brotli.error, zstandard.ZstdError):
        raise WireError("body does not decode as its content coding says") from None
    return b"".join(out)


def _gunzip(data: bytes) -> Iterator[bytes]:
    position = 0
    while position < len(data):  # a body may hold several members, and padding after the last
        position = yield from _inflate(data, position, wbits=31)
        while data[position : position + 1] == b"\0":
            position += 1


def _undeflate(data: bytes) -> Iterator[bytes]:
    # The coding is named after the zlib format, yet some senders mean the bare one inside it. RFC 1950: the low half
    # byte is 8 and the first two bytes are a multiple of 31.
    is_zlib = len(data) < 2 or (data[0] & 15 == 8 and (data[0] << 8 | data[1]) % 31 == 0)
    end = yield from _inflate(data, 0, wbits=15 if is_zlib else -15)
    if end < len(data):
        raise zlib.error("bytes after the end")


def _inflate(data: bytes, position: int, *, wbits: int) -> Generator[bytes, None, int]:
    """Pieces of the member that begins at `position`; returns where it ended, or the end of a cut body."""
    decoder = zlib.decompressobj(wbits)
    while not decoder.eof and position < len(data):
        fed = data[position : position + _FED]
        position += len(fed)
        more = True
        while more:
            piece = decoder.decompress(fed, _PIECE)
            yield piece
            fed = decoder.unconsumed_tail
            more = bool(fed) or len(piece) == _PIECE
    return position - len(decoder.unused_data)


def _unbrotli(data: bytes) -> Iterator[bytes]:
    decoder = brotli.Decompressor()
    piece: bytes = decoder.process(data, output_buffer_limit=_PIECE)
    yield piece
    while not decoder.is_finished() and (piece or not decoder.can_accept_more_data()):
        piece = decoder.process(b"", output_buffer_limit=_PIECE)
        yield piece


def _unzstd(data: bytes) -> Iterator[bytes]:
    decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_MAX_WINDOW)
    with decoder.stream_reader(io.BytesIO(data), read_across_frames=True) as reader:
        while piece := reader.read(_PIECE):
            yield piece


_DECODERS: Final[dict[str, Callable[[bytes], Iterator[bytes]]]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _undeflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
