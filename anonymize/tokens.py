"""Tokenizes every distinct segment of a session once.

A conversation repeats its history in every request, so segments are interned: the first sight of a text costs a
tokenizer call, every later one a lookup by content digest. A segment is one control token, an id reserved for its role
above every vocabulary, followed by the token ids of its text. Control tokens keep "the same words in another role"
apart and make the cut into segments readable from the token stream. Placeholders are filled with words of their digest,
also above every vocabulary, so that equal images are equal tokens and nothing else is.
"""

from __future__ import annotations

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


class SegmentTokens:
    """The memo of one session. `handle` numbers distinct segments, `tokens` and `role` look a number up."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._handles: dict[tuple[Role, bytes, int], int] = {}
        self._tokens: list[Tokens] = []
        self._roles: list[Role] = []
        self.tokenized = 0
        """Tokens that came out of the tokenizer so far: the work done, equal to the new content."""

    def handle(self, segment: Segment) -> int:
        """The number of this segment's content, tokenizing it when it is new."""
        key = _content_key(segment)
        known = self._handles.get(key)
        if known is not None:
            return known
        self._tokens.append(self._fill(segment))
        self._roles.append(segment.role)
        self._handles[key] = len(self._handles)
        return len(self._handles) - 1

    def tokens(self, handle: int) -> Tokens:
        """Control token and content of a segment; not to be written to."""
        return self._tokens[handle]

    def role(self, handle: int) -> Role:
        return self._roles[handle]

    def _fill(self, segment: Segment) -> Tokens:
        control = np.array([CONTROL_TOKENS[segment.role]], dtype=np.uint32)
        if segment.placeholder_tokens:
            words = np.frombuffer(bytes.fromhex(segment.digest), dtype="<u4") | _PLACEHOLDER_BIT
            return np.concatenate([control, np.resize(words, segment.placeholder_tokens)])
        if not segment.text:
            return control
        ids = self._tokenizer.encode(segment.text)
        self.tokenized += len(ids)
        return np.concatenate([control, ids])


def _content_key(segment: Segment) -> tuple[Role, bytes, int]:
    content = segment.digest or segment.text
    digest = xxhash.xxh3_128_digest(content.encode("utf-8", "surrogatepass"))
    return segment.role, digest, segment.placeholder_tokens
