"""Words to search for that nobody planted: what the client and the model said, and the names they gave to things."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import zstandard

from corpus.capture.reader import open_captures
from corpus.capture.segment import WINDOW_LOG
from wire.encoding import decode_body

_NAMES = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b(?:toolu|msg|call|req|fc|ctc|rs|resp)_\w{12,}")
_SENTENCES = re.compile(r"[A-Z][a-z]+(?: [a-z]+){5,8}")
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_EACH = 120  # of either kind; more would only take longer
_KEY_PIECE = 12  # characters


def recorded_texts(captures: Path) -> str:
    """Everything the captures hold, unpacked: heads and bodies."""
    parts: list[str] = []
    for exchange in open_captures(captures).exchanges():
        for record in (exchange.request, exchange.response):
            if record is not None:
                codings = [value for name, value in record.headers if name.lower() == "content-encoding"]
                parts += [
                    repr(record),
                    decode_body(record.body, codings[0] if codings else None).decode(errors="replace"),
                ]
    return "\n".join(parts)


def unpacked_segments(captures: Path) -> Iterator[tuple[str, bytes]]:
    """Every compressed frame of the capture files as it was written, whatever it holds."""
    for path in sorted(captures.glob("*.segment")):
        data = path.read_bytes()
        for start in (found.start() for found in re.finditer(re.escape(_ZSTD_MAGIC), data)):
            unpacker = zstandard.ZstdDecompressor(max_window_size=1 << WINDOW_LOG).decompressobj()
            with contextlib.suppress(zstandard.ZstdError):  # then a body inside a frame has such bytes
                yield f"{path.name} from byte {start}", unpacker.decompress(data[start:])


def learned_words(texts: str) -> list[str]:
    """Ids and pieces of sentences, evenly picked from all over `texts`."""
    found: list[str] = []
    for pattern in (_NAMES, _SENTENCES):
        every = list(dict.fromkeys(pattern.findall(texts)))
        found += islice(every, 0, None, max(1, len(every) // _EACH))
    return found


def key_pieces(key: str) -> list[str]:
    """The key and every stretch of its secret part."""
    secret = key.rpartition("-")[2]
    return [key, *(secret[start : start + _KEY_PIECE] for start in range(len(secret) - _KEY_PIECE + 1))]
