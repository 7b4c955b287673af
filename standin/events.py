"""What both providers' protocols share: stream frames, cutting text into deltas, and made-up identifiers."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from standin.prose import chance, token

_PIECE: Final = 48  # characters of text in one delta


@dataclass(frozen=True, slots=True)
class Frame:
    """One SSE event; `tokens` is what it adds to the output, for the pace."""

    event: str
    data: bytes
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Names:
    """Identifiers of one answer; the same seed gives the same ones."""

    seed: str

    def make(self, prefix: str, length: int, *what: object) -> str:
        return prefix + token(length, self.seed, prefix, *what)

    def opaque(self, chars: int, *what: object, memo: str = "") -> str:
        """Base64 text that stands for ciphertext or a signature; `read_opaque` finds `memo` again."""
        noise = chance("opaque", self.seed, *what).randbytes(max(1, chars * 3 // 4))
        return base64.b64encode(memo.encode() + noise[len(memo) :]).decode()


def read_opaque(text: str) -> str:
    """What `Names.opaque` was given as memo, followed by noise; empty for text that is not base64."""
    try:
        return base64.b64decode(text, validate=True).decode(errors="replace")
    except ValueError:
        return ""


def pieces(text: str, size: int = _PIECE) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]
