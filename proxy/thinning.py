"""A stream of events without the pieces of content it is mostly made of.

What the recorder wants to know of an answer (usage, errors, whether it is whole) stands in the few other events; the
pieces would be parsed for nothing. Of pieces in a row the first stays, so that what was begun is still seen to have
begun.
"""

from __future__ import annotations

import re
from typing import Final

# Anthropic's pieces, and those of the Responses API. Chat completions have no names to tell their chunks apart by.
_PIECE: Final = re.compile(rb"event: (content_block_delta|response\.[a-z_.]+\.delta)\n")
_SEPARATOR: Final = b"\n\n"


def without_pieces(stream: bytes) -> bytes:
    """`stream` decoded; one that separates its events in another way comes back as it is."""
    kept: list[bytes] = []
    after_piece = False
    *events, unended = stream.split(_SEPARATOR)
    for event in events:
        is_piece = _PIECE.match(event) is not None
        if not (is_piece and after_piece):
            kept.append(event)
        after_piece = is_piece
    return _SEPARATOR.join([*kept, unended])
