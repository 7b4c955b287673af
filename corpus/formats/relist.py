"""Block lists at another block size and in one id space, as formats with file-wide ids want them.

Ids of a session are chained: one names its block and everything before it. A block that ends at token `end` is
therefore named by (the id of the session's block that `end` falls into, `end`): coarser lists are every n-th id, finer
ones number the parts of a block, which the session cannot tell apart from equal parts elsewhere. Tokens after the last
listed block get a name made of that block and the prompt's length, so a prompt that is sent again keeps its tail; a
prompt without any listed block shares with none. Lists are rounded up: the partial last block has an id.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import count

from corpus.blocks import expand_blocks
from corpus.session import Request, Session


class IdSpace:
    """Dense ids from `first` by first appearance over all sessions given; remembers every name."""

    def __init__(self, first: int = 0) -> None:
        self._next = count(first)
        self._ids: dict[Hashable, int] = {}

    def lists(self, session: Session, size: int) -> list[list[int]]:
        """Per request ceil(input_tokens / size) ids."""
        own = expand_blocks([request.blocks for request in session.requests])
        listed: list[list[int]] = []
        for request, ids in zip(session.requests, own, strict=True):
            base, keep = request.blocks.base, request.blocks.keep * session.block_size // size
            shared = min(keep, request.input_tokens // size)
            if base >= 0:
                shared = min(shared, session.requests[base].input_tokens // size)
            known = listed[base][:shared] if base >= 0 else []
            listed.append(known + self._rest(session, request, ids.tolist(), size, len(known)))
        return listed

    def fresh(self) -> int:
        """An id that names nothing else."""
        return next(self._next)

    def _rest(self, session: Session, request: Request, ids: list[int], size: int, start: int) -> list[int]:
        rest = []
        for number in range(start, -(-request.input_tokens // size)):
            end = min((number + 1) * size, request.input_tokens)
            name = (session.session, *_name(request, ids, session.block_size, end))
            if name not in self._ids:
                self._ids[name] = next(self._next)
            rest.append(self._ids[name])
        return rest


def _name(request: Request, ids: list[int], own: int, end: int) -> tuple[Hashable, ...]:
    block = (end - 1) // own
    if block < len(ids):
        return (ids[block], end)
    if ids:
        return ("tail", ids[-1], request.input_tokens, end)
    return ("alone", request.request, end)
