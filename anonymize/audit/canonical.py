"""T1: block numbers say nothing but equality.

In request order every block is either one that was there before or the next number, so the numbers of a session could
be no other ones. Read from the deltas: what a request keeps was there, and its runs are consecutive.
"""

from __future__ import annotations

from corpus.session import Session


def find_odd_block(session: Session) -> str | None:
    """The first request whose blocks are not numbered by first appearance from 1, as a place; None when all are."""
    following = 1
    for request in session.requests:
        for start, length in zip(request.blocks.run_start, request.blocks.run_len, strict=True):
            if not 1 <= start <= following:
                return f"request {request.request} holds block {start}, where {following} would be next"
            following = max(following, start + length)
    return None
