"""Tokenizes every distinct segment of a session once, and gives its tokens the length asked for.

A conversation repeats its history in every request, so segments are interned: the first sight of a text costs a
tokenizer call, every later one a lookup by content digest. A segment is one control token, an id reserved for its role
above every vocabulary, followed by the token ids of its text. Control tokens keep "the same words in another role"
apart and make the cut into segments readable from the token stream. Placeholders are filled with words of their digest,
also above every vocabulary, so that equal images are equal tokens and nothing else is.

Calibration asks for other lengths than the local tokenizer's (`resized`). Three rules keep what equality means:
tokens are spread by position at one ratio per model and role, so two texts that begin alike still begin alike; what is
left over is padded, or folded into the last token, at the segment's own end; tokens that fall together are mixed,
never dropped, so different texts stay different.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, get_args

import numpy as np
import xxhash
from numpy.typing import NDArray

from anonymize.segments import Segment
from corpus.session import Role
from corpus.tokenizer import Tokenizer

Tokens = NDArray[np.uint32]

_CONTROL_BASE: Final = 0x7FFF_0000
CONTROL_TOKENS: Final[dict[Role, int]] = {role: _CONTROL_BASE + i for i, role in enumerate(get_args(Role))}
_PLACEHOLDER_BIT: Final = np.uint32(0x8000_0000)
_PADDING: Final = np.uint32(_CONTROL_BASE + 0xFFFF)
# Odd multipliers of murmur3's 32-bit finaliser (Appleby).
_MIX_1, _MIX_2 = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)


@dataclass(frozen=True, slots=True)
class Interned:
    """One distinct content: control token and content tokens (not to be written to), and the text's bytes."""

    role: Role
    tokens: Tokens
    text_bytes: int  # UTF-8; 0 for placeholders
    is_placeholder: bool


class SegmentTokens:
    """The memo of one session. `handle` numbers distinct segments, `interned` looks a number up."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._handles: dict[tuple[Role, bytes, str], int] = {}
        self._interned: list[Interned] = []
        self.tokenized = 0
        """Tokens that came out of the tokenizer so far: the work done, equal to the new content."""

    def handle(self, segment: Segment) -> int:
        """The number of this segment's content, tokenizing it when it is new."""
        key = (segment.role, _digest(segment.digest or segment.text), segment.rule.name if segment.rule else "")
        known = self._handles.get(key)
        if known is not None:
            return known
        self._interned.append(self._intern(segment))
        self._handles[key] = len(self._handles)
        return len(self._handles) - 1

    def interned(self, handle: int) -> Interned:
        return self._interned[handle]

    def _intern(self, segment: Segment) -> Interned:
        control = np.array([CONTROL_TOKENS[segment.role]], dtype=np.uint32)
        if segment.digest:
            words = np.frombuffer(bytes.fromhex(segment.digest), dtype="<u4") | _PLACEHOLDER_BIT
            return Interned(
                segment.role, np.concatenate([control, np.resize(words, segment.placeholder_tokens)]), 0, True
            )
        if not segment.text:
            return Interned(segment.role, control, 0, False)
        ids = self._tokenizer.encode(segment.text)
        self.tokenized += len(ids)
        size = len(segment.text.encode(errors="replace"))
        return Interned(segment.role, np.concatenate([control, ids]), size, False)


def resized(one: Interned, length: int, ratio: float) -> Tokens:
    """The content at `length` tokens, control token included: spread at `ratio`, then padded or folded at its end.

    At least the control token, and room for the content's identity behind it, whatever `length` says.
    """
    control, body = one.tokens[:1], one.tokens[1:]
    wanted = max(length - 1, min(len(body), _identity_tokens(one)))
    if one.is_placeholder:
        return np.concatenate([control, np.resize(body, wanted)])
    spread = _spread(body, ratio)
    if len(spread) <= wanted:
        return np.concatenate([control, spread, np.full(wanted - len(spread), _PADDING)])
    return np.concatenate([control, spread[: wanted - 1], _mixed(spread[wanted - 1 :], np.zeros(1, dtype=np.intp))])


def _identity_tokens(one: Interned) -> int:
    return 4 if one.is_placeholder else 1


def _spread(body: Tokens, ratio: float) -> Tokens:
    """Token j of the result is made of the tokens from j / ratio on, whatever the body's length."""
    if ratio == 1.0 or not len(body):
        return body
    starts = (np.arange(math.ceil(len(body) * ratio)) / ratio).astype(np.int64)
    starts = starts[starts < len(body)]
    return body[starts] if ratio > 1 else _mixed(body, starts)


def _mixed(body: Tokens, starts: NDArray[np.int64]) -> Tokens:
    """One token for each group of neighbours: itself when it stands alone, else a 31-bit digest above all ids."""
    ends = np.append(starts[1:], len(body))
    place = np.arange(len(body)) - np.repeat(starts, ends - starts)
    words = (body ^ (body >> np.uint32(16))) * _MIX_1 + place.astype(np.uint32) * _MIX_2
    words = (words ^ (words >> np.uint32(13))) * _MIX_2
    words ^= words >> np.uint32(16)
    sums = np.add.reduceat(words, starts) | _PLACEHOLDER_BIT
    return np.where(ends - starts == 1, body[starts], sums).astype(np.uint32)


def _digest(content: str) -> bytes:
    return xxhash.xxh3_128_digest(content.encode("utf-8", "surrogatepass"))
