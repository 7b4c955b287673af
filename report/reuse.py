"""How far back every block of every prompt was last used: one pass that answers for all cache sizes at once.

An LRU cache of any size holds the top of one stack (Mattson and others, 1970): all blocks by last use, a prompt's first
block above its last (`corpus.prefix_cache`). So a block is served from a cache of C tokens exactly when it lies
less than C deep. Blocks of one prompt that were last used together lie together, and a later prompt that shares some of
them takes a stretch from their upper end. So the stack is kept as stretches, one or two to a request, and the work
follows requests, not blocks. Depth is a sum over all stretches used since, kept in a Fenwick tree.

What a finished session leaves may be overwritten first: it becomes a hole. A block put on top fills the uppermost
hole, and only what lies above that hole sinks. A block that is taken from below a hole leaves a hole of its own.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from report.lanes import Prompts
from report.prompt_tree import Ints

_ROOM = 8  # stretches a session begins with


@dataclass(frozen=True, slots=True)
class Stretch:
    """`blocks` neighbours of a prompt, all last used by visit `stamp`; the first lies `depth_tokens` deep."""

    stamp: int
    depth_tokens: int
    blocks: int


@dataclass(frozen=True, slots=True)
class Found:
    """What a prompt finds, before it is used: its stretches from its first block on, and where they are kept."""

    stretches: tuple[Stretch, ...]
    kept_at: Ints | None  # None: at the one used last
    shared: Ints  # blocks from the prompt's first to where each stretch found ends


class ReuseStack:
    """The stack of one cache. `visits` is how many prompts will be used at most; their numbers only rise."""

    def __init__(self, visits: int) -> None:
        self._weights = _Sums(visits)  # tokens by last use, holes included
        self._holes: dict[int, int] = {}  # tokens by last use; they lie above what is left there
        self._uppermost: list[int] = []  # a heap of the same, negated
        self._sessions: dict[int, _Stretches] = {}

    def find(self, session: int, prompts: Prompts, request: int) -> Found:
        kept = self._sessions.get(session)
        length = int(prompts.blocks[request])
        if kept is None or not kept.count or not length:
            return Found((), _NONE, _NONE)
        tree, place = prompts.tree, int(prompts.tree.place[request])
        most = min(length, int(tree.keep[request]))  # no prompt before shares more
        last, stop, stamp = kept.last()
        if most and min(stop, tree.shared_with(place, last)) >= most:  # the usual case: the last prompt goes on
            return Found((Stretch(stamp, self._depth(stamp), most),), None, np.array([most]))
        kept_at, shared = kept.above(np.minimum(tree.shared(place, kept.places()), length))
        stretches = [
            Stretch(stamp, self._depth(stamp), stop - start)
            for stamp, start, stop in kept.latest_first(kept_at, shared)
        ]
        return Found(tuple(stretches), kept_at, shared)

    def use(self, visit: int, session: int, prompts: Prompts, request: int, found: Found, answer_blocks: int) -> None:
        """Put the prompt on top, and below it the blocks of its answer, which no later prompt has."""
        size = prompts.block_tokens
        length = int(prompts.blocks[request])
        for stretch in found.stretches:
            if self._holes:
                self._open(stretch.stamp, stretch.blocks * size)
            else:  # its own place is the uppermost hole there will be
                self._weights.add(stretch.stamp, -stretch.blocks * size)
        if self._holes:
            self._fill((length + answer_blocks) * size)
        self._weights.add(visit, (length + answer_blocks) * size)
        kept = self._sessions.setdefault(session, _Stretches())
        if found.kept_at is None:
            kept.take_last(int(found.shared[0]))
        elif found.stretches:
            kept.take(found.kept_at, found.shared)
        kept.add(int(prompts.tree.place[request]), length, visit, answer_blocks)

    def forget(self, session: int, prompts: Prompts) -> None:
        """The session is over: what it left goes before anything else."""
        kept = self._sessions.pop(session, None)
        if kept is not None:
            for stamp, blocks in kept.left():
                self._open(stamp, blocks * prompts.block_tokens)

    def _depth(self, stamp: int) -> int:
        return self._weights.after(stamp) + self._holes.get(stamp, 0)

    def _open(self, stamp: int, tokens: int) -> None:
        if stamp not in self._holes:
            self._holes[stamp] = 0
            heapq.heappush(self._uppermost, -stamp)
        self._holes[stamp] += tokens

    def _fill(self, tokens: int) -> None:
        while tokens and self._holes:
            stamp = -self._uppermost[0]
            filled = min(tokens, self._holes[stamp])
            self._weights.add(stamp, -filled)
            self._holes[stamp] -= filled
            tokens -= filled
            if not self._holes[stamp]:
                del self._holes[stamp]
                heapq.heappop(self._uppermost)


@dataclass(frozen=True, slots=True)
class Reuse:
    """All stretches of a pass; parallel columns. `visit` rises, and within a visit the depth does."""

    visit: Ints
    depth_tokens: Ints
    blocks: Ints
    age_us: Ints  # since the last use
    block_tokens: Ints

    def served(self, capacity_tokens: int | None, ttl_us: int | None = None) -> Ints:
        """Blocks of every stretch that a cache of this size (None: unlimited) serves."""
        if capacity_tokens is None:
            hits = self.blocks
        else:
            room = (capacity_tokens - self.depth_tokens) // self.block_tokens
            hits = np.clip(room, 0, self.blocks)
        return hits if ttl_us is None else np.where(self.age_us <= ttl_us, hits, 0)


class ReuseLog:
    """Stretches as they are found, packed."""

    def __init__(self) -> None:
        self._columns = tuple(array("q") for _ in range(5))

    def add(self, visit: int, stretch: Stretch, age_us: int, block_tokens: int) -> None:
        row = (visit, stretch.depth_tokens, stretch.blocks, age_us, block_tokens)
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)

    def reuse(self) -> Reuse:
        return Reuse(*(np.frombuffer(column, dtype=np.int64) if column else _NONE for column in self._columns))


class _Stretches:
    """Of one session: what is left of each used prompt, from `start` to `stop` of its blocks, by last use."""

    __slots__ = ("_answers", "_rows", "count")

    def __init__(self) -> None:
        self._rows = np.empty((4, _ROOM), dtype=np.int64)  # place, start, stop, stamp
        self.count = 0
        self._answers: list[tuple[int, int]] = []

    def last(self) -> tuple[int, int, int]:
        """Place, stop and stamp of the one used last; it still has its first block."""
        place, _, stop, stamp = self._rows[:, self.count - 1].tolist()
        return place, stop, stamp

    def places(self) -> Ints:
        return self._rows[0, : self.count]

    def above(self, shared: Ints) -> tuple[Ints, Ints]:
        """Which stretches the prompt takes something from, and up to where."""
        stop = np.minimum(shared, self._rows[2, : self.count])
        kept_at = np.flatnonzero(stop > self._rows[1, : self.count])
        return kept_at, stop[kept_at]

    def latest_first(self, kept_at: Ints, shared: Ints) -> Iterator[tuple[int, int, int]]:
        start, stamp = self._rows[1, kept_at], self._rows[3, kept_at]
        yield from zip(stamp[::-1].tolist(), start[::-1].tolist(), shared[::-1].tolist(), strict=True)

    def take(self, kept_at: Ints, shared: Ints) -> None:
        rows = self._rows[:, : self.count]
        rows[1, kept_at] = shared
        left = rows[:, rows[1] < rows[2]]
        self.count = left.shape[1]
        self._rows[:, : self.count] = left

    def take_last(self, shared: int) -> None:
        row = self._rows[:, self.count - 1]
        row[1] = shared
        self.count -= int(row[1] == row[2])

    def add(self, place: int, blocks: int, stamp: int, answer_blocks: int) -> None:
        if answer_blocks:
            self._answers.append((stamp, answer_blocks))
        if not blocks:
            return
        if self.count == self._rows.shape[1]:
            self._rows = np.concatenate((self._rows, np.empty_like(self._rows)), axis=1)
        self._rows[:, self.count] = (place, 0, blocks, stamp)
        self.count += 1

    def left(self) -> Sequence[tuple[int, int]]:
        rows = self._rows[:, : self.count]
        return [*zip(rows[3].tolist(), (rows[2] - rows[1]).tolist(), strict=True), *self._answers]


class _Sums:
    """Numbers by position, and how much lies after one (Fenwick 1994); both in logarithmic time."""

    __slots__ = ("_total", "_tree")

    def __init__(self, length: int) -> None:
        self._tree = [0] * (length + 1)
        self._total = 0

    def add(self, position: int, amount: int) -> None:
        self._total += amount
        tree, length, at = self._tree, len(self._tree), position + 1
        while at < length:
            tree[at] += amount
            at += at & -at

    def after(self, position: int) -> int:
        tree, at, sum_until = self._tree, position + 1, 0
        while at:
            sum_until += tree[at]
            at &= at - 1
        return self._total - sum_until


_NONE: Ints = np.empty(0, dtype=np.int64)
