"""T1: block numbers say nothing but equality.

In request order every block is either one that was there before or the next number, so the numbers of a session could
be no other ones. Read from the deltas: what a request keeps was there, and its runs are consecutive.

In a published corpus a prompt may begin with shared blocks. Their numbers are drawn from all that lie in a row from
`SHARED_FROM` on, each stands in the sessions of at least as many people as must have it in common, hence in as many
sessions, and none stands behind a block of the session's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from anonymize.sharing import LEAST_CONTRIBUTORS
from corpus.blocks import SHARED_FROM
from corpus.session import Blocks, Session


def find_odd_block(session: Session) -> str | None:
    """The first request whose blocks are not numbered by first appearance from 1, as a place; None when all are."""
    following = 1
    shared: list[int] = []  # blocks that each prompt shares with other sessions
    for request in session.requests:
        where = f"request {request.request}"
        led = _shared_lead(request.blocks, shared)
        if led is None:
            return f"{where} holds a shared block behind one of its own"
        shared.append(led)
        for start, length in _runs(request.blocks):
            if start >= SHARED_FROM:
                continue
            if not 1 <= start <= following:
                return f"{where} holds block {start}, where {following} would be next"
            following = max(following, start + length)
    return None


class SharedBlocks:
    """Sessions are added one by one; then the shared numbers of all of them are looked at."""

    def __init__(self) -> None:
        self._sessions: Counter[int] = Counter()

    def add(self, session: Session) -> None:
        runs = {run for request in session.requests for run in _runs(request.blocks) if run[0] >= SHARED_FROM}
        self._sessions.update({start + n for start, length in runs for n in range(length)})

    def flaws(self, *, public: bool) -> Iterator[str]:
        if self._sessions and not public:
            yield "blocks are shared between sessions of a corpus that was not published"
        if self._sessions and max(self._sessions) - SHARED_FROM >= len(self._sessions):
            yield "shared blocks are not numbered in a row"
        if min(self._sessions.values(), default=LEAST_CONTRIBUTORS) < LEAST_CONTRIBUTORS:
            yield f"a block is shared by fewer than {LEAST_CONTRIBUTORS} sessions"


def _shared_lead(blocks: Blocks, before: list[int]) -> int | None:
    """How many shared blocks a prompt begins with; None when one stands further behind."""
    kept = before[blocks.base] if blocks.base >= 0 else 0
    lead = min(kept, blocks.keep)
    is_open = lead == blocks.keep
    for start, length in _runs(blocks):
        if start < SHARED_FROM:
            is_open = False
        elif is_open:
            lead += length
        else:
            return None
    return lead


def _runs(blocks: Blocks) -> Iterator[tuple[int, int]]:
    return zip(blocks.run_start, blocks.run_len, strict=True)
