"""How many leading blocks any two prompts of a session share, from their deltas alone.

A request keeps the longest prefix that it shares with anything earlier (`corpus.blocks`), so what it shares with an
earlier request is what its base shares with that one, but no more than it keeps. One row a request follows from the row
of its base; no list is expanded.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corpus.blocks import count_blocks
from corpus.session import Request


class Prefixes:
    """`counts[r]`: blocks of request `r`; `pairs[a, b]`: leading blocks that two requests have in common.

    Memory: two bytes a pair of requests where every prompt has less than 65,536 blocks, else four.
    """

    def __init__(self, requests: Sequence[Request]) -> None:
        self.counts = [count_blocks(request.blocks) for request in requests]
        small = max(self.counts, default=0) <= np.iinfo(np.uint16).max
        self.pairs = np.zeros((len(requests), len(requests)), np.uint16 if small else np.uint32)
        for request in requests:
            self._add(request.request, request.blocks.base, request.blocks.keep)

    def shared(self, one: int, other: int) -> int:
        return int(self.pairs[one, other])

    def row(self, request: int) -> list[int]:
        """What the request shares with each request of the session, itself included."""
        shared: list[int] = self.pairs[request].tolist()
        return shared

    def _add(self, number: int, base: int, keep: int) -> None:
        pairs = self.pairs
        pairs[number, number] = self.counts[number]
        if base >= 0:
            np.minimum(pairs[base, :number], pairs.dtype.type(keep), out=pairs[number, :number])
            pairs[:number, number] = pairs[number, :number]
