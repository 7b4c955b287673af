"""How much any two prompts of a session share, from the deltas alone and in a few array look-ups.

The requests form a tree: each hangs on the request that introduced the last block it shares (`base`), `keep` blocks
deep. Walked depth first, deepest branches first, neighbours share the most: what two requests share is the least
`keep` on the walk between them. A sparse table (minima over stretches of 1, 2, 4, ... places) answers that for many
requests at once. Blocks themselves are never listed, so a session costs memory by its requests and not by its tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from corpus.session import Blocks

Ints = NDArray[np.int64]


class PromptTree:
    """Relies on `keep` being the longest prefix shared with any earlier request, as `corpus.blocks` writes it."""

    __slots__ = ("_minima", "_powers", "keep", "place")

    def __init__(self, deltas: Sequence[Blocks]) -> None:
        walk = _walk(deltas)
        self.keep: Ints = np.array([delta.keep for delta in deltas], dtype=np.int64)
        self.place: Ints = np.empty(len(walk), dtype=np.int64)  # of every request on the walk
        self.place[walk] = np.arange(len(walk))
        self._minima = _minima(self.keep[walk])
        self._powers = np.array([max(0, n.bit_length() - 1) for n in range(len(walk) + 1)], dtype=np.int64)

    def shared(self, place: int, others: Ints) -> Ints:
        """Leading blocks that the request at `place` shares with those at `others`, of which it is none itself."""
        first = np.minimum(others, place) + 1
        stop = np.maximum(others, place) + 1
        power = self._powers[stop - first]
        shared: Ints = np.minimum(self._minima[power, first], self._minima[power, stop - (1 << power)])
        return shared

    def shared_with(self, place: int, other: int) -> int:
        """The same for a single other one."""
        first, stop = (place, other) if place < other else (other, place)
        power = (stop - first).bit_length() - 1
        row = self._minima[power]
        return min(int(row[first + 1]), int(row[stop + 1 - (1 << power)]))


def _walk(deltas: Sequence[Blocks]) -> list[int]:
    """Request numbers, depth first; below one request those that share most come first."""
    below: dict[int, list[int]] = {}
    for number, delta in enumerate(deltas):
        base = delta.base
        while base >= 0 and delta.keep <= deltas[base].keep:  # all that is shared, the base has from its own base
            base = deltas[base].base
        below.setdefault(base, []).append(number)
    for children in below.values():
        children.sort(key=lambda number: (deltas[number].keep, -number))  # last is walked first
    walk = []
    ahead = below.get(-1, [])
    while ahead:
        number = ahead.pop()
        walk.append(number)
        ahead += below.get(number, ())
    return walk


def _minima(keeps: Ints) -> Ints:
    """Row p holds the least of 2**p neighbours from each place on."""
    rows = [keeps]
    reach = 1
    while 2 * reach <= len(keeps):
        last = rows[-1]
        shorter = np.minimum(last[:-reach], last[reach:])
        rows.append(np.concatenate((shorter, last[len(shorter) :])))
        reach *= 2
    return np.stack(rows)
