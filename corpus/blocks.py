"""Block and segment lists of a session as deltas, and back.

A prompt repeats its history, so each list is stored as "the first `keep` entries of request `base`, then these". `base`
is the request that introduced the last shared block, found over the whole session and not only in the turn before: a
sub-agent's sibling, a rewind and a compaction all find their longest prefix, and `base` is always an earlier request.

The longest prefix is found without comparing lists pairwise: every prefix gets a 64-bit key (a running sum of mixed
(position, id) pairs), known keys map to the request that introduced them, and since a known prefix has known prefixes,
a binary search finds the longest. Keys may collide; the match is therefore compared before it is used, so an expanded
list always equals the one that was encoded, whether its ids are chained or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat, takewhile
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpus.session import Blocks, Request, Role, Segments

Ids = NDArray[np.int64]
# Numbers from here on mean the same prefix in every session of a corpus (`publish` gives them to what many people have
# in common, always at the front of a prompt); numbers below are a session's own. Imports keep the ids they come with.
SHARED_FROM: Final = 1 << 40

SegmentList = tuple[tuple[Role, int], ...]

# Of splitmix64 (Steele, Lea, Flood 2014): multipliers of its finaliser, of which one round does here, and its step.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def encode_blocks(lists: Iterable[Sequence[int] | NDArray[Any]]) -> list[Blocks]:
    """One delta a list, in order; ids must fit 64 signed bits (OverflowError)."""
    encoder = _Encoder()
    return [encoder.encode(given) for given in lists]


class _Tail(NamedTuple):
    """A list that later ones may begin with."""

    given: Sequence[int] | NDArray[Any]
    ids: Ids
    keys: NDArray[np.uint64]


_TAILS: Final = 8  # conversations of one session that take turns
_NOTHING: Final = _Tail((), np.empty(0, np.int64), np.empty(0, np.uint64))


class _Encoder:
    """Most lists repeat a recent one whole; then only what they add is converted and looked up."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}  # key of a prefix -> request that introduced it
        self._seen: list[Ids] = []
        self._tails: list[_Tail] = []  # the latest last

    def encode(self, given: Sequence[int] | NDArray[Any]) -> Blocks:
        tail = self._take(given)
        repeated = len(tail.ids)
        added = np.asarray(given[repeated:], dtype=np.int64)
        ids, keys = added, _prefix_keys(added, repeated)
        if repeated:
            ids, keys = np.concatenate((tail.ids, ids)), np.concatenate((tail.keys, keys + tail.keys[-1]))
        known, number = self._known, len(self._seen)
        keep = _longest_known(keys, known, repeated)
        base = known[int(keys[keep - 1])] if keep else -1
        if keep and not np.array_equal(self._seen[base][:keep], ids[:keep]):
            base, keep = -1, 0
        known.update(zip(keys[keep:].tolist(), repeat(number)))
        self._seen.append(ids)
        self._tails = [*self._tails[1 - _TAILS :], _Tail(given, ids, keys)]
        return Blocks(base, keep, *_runs(ids[keep:]))

    def _take(self, given: Sequence[int] | NDArray[Any]) -> _Tail:
        """The latest of the tails that the list begins with, taken out; an empty one where it begins with none."""
        for number in range(len(self._tails) - 1, -1, -1):
            if _begins_with(given, self._tails[number]):
                return self._tails.pop(number)
        return _NOTHING


def expand_blocks(blocks: Sequence[Blocks]) -> list[Ids]:
    """The full list of every request; ValueError when a delta refers to what is not there.

    Requests that repeat a list whole share one array, so treat the arrays as read-only.
    """
    expanded: list[Ids] = []
    for number, delta in enumerate(blocks):
        if not -1 <= delta.base < number:
            raise ValueError(f"request {number}: base {delta.base} is no earlier request")
        available = len(expanded[delta.base]) if delta.base >= 0 else 0
        if not 0 <= delta.keep <= available:
            raise ValueError(f"request {number}: keeps {delta.keep} of {available} blocks")
        expanded.append(_expand(delta, expanded))
    return expanded


def count_blocks(blocks: Blocks) -> int:
    """Length of the full list, without expanding it."""
    return blocks.keep + sum(blocks.run_len)


def repeated_tokens(request: Request, block_size: int) -> int:
    """Of the prompt, in the longest prefix that an earlier one of the session has."""
    return min(request.blocks.keep * block_size, request.input_tokens)


def encode_segments(lists: Iterable[Sequence[tuple[Role, int]]], blocks: Sequence[Blocks]) -> list[Segments]:
    """Segment deltas against the same `base` as the blocks; `lists` and `blocks` are parallel."""
    seen: list[Sequence[tuple[Role, int]]] = []
    encoded: list[Segments] = []
    for segments, delta in zip(lists, blocks, strict=True):
        before = seen[delta.base] if delta.base >= 0 else ()
        keep = sum(1 for _ in takewhile(_equal, zip(before, segments, strict=False)))
        rest = segments[keep:]
        encoded.append(Segments(keep, tuple(role for role, _ in rest), tuple(tokens for _, tokens in rest)))
        seen.append(segments)
    return encoded


def expand_segments(requests: Sequence[Request]) -> list[SegmentList]:
    """The (role, tokens) list of every request of a session, empty where the source has no boundaries."""
    expanded: list[SegmentList] = []
    for request in requests:
        delta, base = request.segments, request.blocks.base
        if delta is None:
            expanded.append(())
            continue
        kept = expanded[base][: delta.keep] if base >= 0 else ()
        if len(kept) != delta.keep:
            raise ValueError(f"request {request.request}: keeps {delta.keep} of {len(kept)} segments")
        expanded.append(kept + tuple(zip(delta.roles, delta.tokens, strict=True)))
    return expanded


def _begins_with(given: Sequence[int] | NDArray[Any], tail: _Tail) -> bool:
    """Lists are compared with lists, arrays with arrays, and nothing else: the rest is looked up whole."""
    before = tail.given
    if isinstance(given, list):
        return isinstance(before, list) and given[: len(before)] == before
    if not isinstance(given, np.ndarray) or not isinstance(before, np.ndarray) or given.dtype != np.int64:
        return False
    return len(given) >= len(before) and bool((given[: len(before)] == tail.ids).all())


def _prefix_keys(ids: Ids, start: int = 0) -> NDArray[np.uint64]:
    """Keys of the prefixes of a list whose ids from `start` on are given, counted from there."""
    mixed = ids.view(np.uint64) * _MIX_2
    mixed += np.arange(start + 1, start + len(ids) + 1, dtype=np.uint64) * _STEP
    mixed ^= mixed >> np.uint64(30)
    mixed *= _MIX_1
    mixed ^= mixed >> np.uint64(29)
    return np.cumsum(mixed, dtype=np.uint64)


def _longest_known(keys: NDArray[np.uint64], known: dict[int, int], low: int) -> int:
    """`low`: a length that is known."""
    high = len(keys)
    while low < high:
        middle = (low + high + 1) // 2
        if int(keys[middle - 1]) in known:
            low = middle
        else:
            high = middle - 1
    return low


def _runs(ids: Ids) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if len(ids) == 0:
        return (), ()
    starts = [0, *(np.nonzero(ids[1:] - ids[:-1] != 1)[0] + 1).tolist()]
    ends = [*starts[1:], len(ids)]
    return tuple(ids[starts].tolist()), tuple(end - start for start, end in zip(starts, ends, strict=True))


def _expand(delta: Blocks, expanded: Sequence[Ids]) -> Ids:
    parts = [expanded[delta.base][: delta.keep]] if delta.keep else []
    parts += [
        np.arange(length, dtype=np.int64) + np.int64(start)  # wraps where the ids did
        for start, length in zip(delta.run_start, delta.run_len, strict=True)
    ]
    if not parts:
        return np.empty(0, dtype=np.int64)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _equal(pair: tuple[tuple[Role, int], tuple[Role, int]]) -> bool:
    return pair[0] == pair[1]
