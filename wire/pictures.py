"""How large an image is and how many pages a PDF has, read from the first bytes of it: what providers charge by.

Only file headers are looked at (PNG, GIF, JPEG, WebP), nothing is decoded into pixels. A file that does not say gives
None. Sources: the formats' own specifications.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

_HEAD_CHARACTERS: Final = 512 << 10  # of base64; cameras put previews before the size of a JPEG
_PAGE: Final = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_PAGE_COUNT: Final = re.compile(rb"/Type\s*/Pages\b[^>]*?/Count\s+(\d{1,6})|/Count\s+(\d{1,6})[^>]*?/Type\s*/Pages\b")
_STREAM: Final = re.compile(rb"(?<!end)stream\r?\n")
_DICTIONARY_BYTES: Final = 400  # in front of a stream; those of packed objects are short
_UNPACKED_BYTES: Final = 16 << 20  # of packed objects in one file
_FRAME_MARKERS: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # start of frame, of whatever coding

type Pixels = tuple[int, int]  # width, height


def image_pixels(payload: str) -> Pixels | None:
    """Width and height of a base64 image; None when its head does not tell."""
    head = _decoded(payload[:_HEAD_CHARACTERS])
    reader = next((reader for magic, reader in _READERS if head.startswith(magic)), None)
    try:
        found = reader(head) if reader else None
    except (struct.error, IndexError):
        return None
    return found if found and min(found) > 0 else None


def pdf_pages(payload: str) -> int | None:
    """Pages of a base64 PDF: the largest count of a page tree, else the page objects, both also where objects are
    packed (ISO 32000-1, 7.5.7); None when neither can be found, as in an encrypted file."""
    data = _decoded(payload)
    if b"%PDF-" not in data[:1024]:
        return None
    places = [data, *_unpacked_objects(data)]
    counts = [int(one or other) for place in places for one, other in _PAGE_COUNT.findall(place)]
    return max(counts, default=0) or sum(len(_PAGE.findall(place)) for place in places) or None


def _unpacked_objects(data: bytes) -> Iterator[bytes]:
    left = _UNPACKED_BYTES
    for stream in _STREAM.finditer(data):
        head = data[max(stream.start() - _DICTIONARY_BYTES, 0) : stream.start()]
        if b"/ObjStm" not in head[head.rfind(b"obj") :] or left <= 0:
            continue
        with suppress(zlib.error):  # another filter, or a damaged file
            found = zlib.decompressobj().decompress(data[stream.end() :], left)
            left -= len(found)
            yield found


def _decoded(payload: str) -> bytes:
    """Base64 cut at a multiple of four; b"" for anything else."""
    try:
        return base64.b64decode(payload[: len(payload) // 4 * 4])
    except (binascii.Error, ValueError):
        return b""


def _png(head: bytes) -> Pixels:
    width, height = struct.unpack_from(">II", head, 16)
    return width, height


def _gif(head: bytes) -> Pixels:
    width, height = struct.unpack_from("<HH", head, 6)
    return width, height


def _jpeg(head: bytes) -> Pixels | None:
    for marker, at in _jpeg_segments(head):
        if marker in _FRAME_MARKERS:
            height, width = struct.unpack_from(">HH", head, at + 3)
            return width, height
    return None


def _jpeg_segments(head: bytes) -> Iterator[tuple[int, int]]:
    """Marker and place of the length field of each segment up to the first that is out of reach."""
    at = 2
    while at + 4 <= len(head) and head[at] == 0xFF:
        if head[at + 1] == 0xFF:  # fill byte
            at += 1
            continue
        yield head[at + 1], at + 2
        at += 2 + int(struct.unpack_from(">H", head, at + 2)[0])


def _webp(head: bytes) -> Pixels | None:
    kind = head[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if kind == b"VP8L":
        bits = struct.unpack_from("<I", head, 21)[0]
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", head, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None


_READERS: Final[tuple[tuple[bytes, Callable[[bytes], Pixels | None]], ...]] = (
    (b"\x89PNG\r\n\x1a\n", _png),
    (b"GIF8", _gif),
    (b"\xff\xd8", _jpeg),
    (b"RIFF", _webp),
)
