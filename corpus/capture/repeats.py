"""Requests that repeat the one before: what of a body need not be stored, for it lies in an earlier body of its frame.

    stored body = slot it takes, slot it copies, number of copies, (at, of, length) of each, bytes that no copy covers

Each frame begins with empty slots; whoever writes and whoever reads keeps in them the last body of a few conversations,
and drops the longest unused ones when they are too much together. A stored body is put together from its own bytes and
copies out of the body in a slot, and then takes the same slot, or another when it begins a conversation. So only what a
turn adds goes through the compressor, though a hint, a cache mark or a list of tools changed on the way.

Which slot fits is found out by comparing, as nothing else tells conversations apart so surely, and comparing costs a
tenth of compressing. A poor choice costs bytes and never content: copies are of what was found to be the same.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

SLOTS: Final = 16  # conversations at a time: a main agent and its sub-agents
MAX_COPIES: Final = 16
WORTH_BYTES: Final = 32 * 1024  # shorter bodies are compressed whole in a tenth of a millisecond
MOST_BYTES: Final = 8 << 20  # longer ones are not kept
MOST_HELD_BYTES: Final = 32 << 20  # by all slots together

_LEAST_BYTES: Final = 64  # a copy takes 24 itself
_STEP_BYTES: Final = 64 * 1024
_ANCHOR_BYTES: Final = 32
_SKIPS: Final = (16, 64, 256, 1024, 4096, 16384)  # how far behind a difference both may be the same again
_WINDOW_BYTES: Final = 4 * 1024
_MAX_MISSES: Final = 4  # differences with next to nothing between them: it is another conversation
_MISS_BYTES: Final = 1024

_HEAD: Final = struct.Struct("<BBB")  # slot it takes, slot it copies, number of copies
_COPY: Final = struct.Struct("<QQQ")


@dataclass(frozen=True, slots=True)
class Copy:
    """`body[at : at + length]` is the earlier body's `[of : of + length]`; copies ascend and do not overlap in `at`."""

    at: int
    of: int
    length: int


class Slots:
    """Of one frame: what whoever writes it and whoever reads it do alike with each body."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = [b""] * SLOTS
        self.unused = list(range(SLOTS))  # longest unused first

    @property
    def held_bytes(self) -> int:
        return sum(map(len, self.bodies))

    def put(self, slot: int, body: bytes) -> None:
        self.bodies[slot] = body
        self.unused.remove(slot)
        self.unused.append(slot)
        for each in self.unused:
            if self.held_bytes <= MOST_HELD_BYTES:
                break
            self.bodies[each] = b""


class Shelf:
    """The slots of a frame, as whoever writes it fills them."""

    def __init__(self) -> None:
        self._slots = Slots()

    @property
    def held_bytes(self) -> int:
        return self._slots.held_bytes

    def put(self, body: bytes) -> list[bytes] | None:
        """The pieces of the stored body; None when it is better stored as it is, and no slot changes."""
        if not WORTH_BYTES <= len(body) <= MOST_BYTES:
            return None
        slots = self._slots
        source, copies = self._choose(body)
        goes_on = _covered(copies) > len(slots.bodies[source]) * 7 // 8
        slot = source if goes_on else slots.unused[0]
        slots.put(slot, body)
        table = b"".join(_COPY.pack(copy.at, copy.of, copy.length) for copy in copies)
        return [_HEAD.pack(slot, source, len(copies)) + table, *_own_pieces(body, copies)]

    def _choose(self, body: bytes) -> tuple[int, list[Copy]]:
        """The slot that most of the body lies in, else the longest unused one and no copies."""
        best: tuple[int, list[Copy]] = (self._slots.unused[0], [])
        most = len(body) // 2
        for slot in self._likely_first(body):
            copies = find_copies(self._slots.bodies[slot], body)
            if _covered(copies) > most:
                best, most = (slot, copies), _covered(copies)
            if most > len(body) * 7 // 8:
                break
        return best

    def _likely_first(self, body: bytes) -> list[int]:
        bodies = self._slots.bodies
        latest = [slot for slot in reversed(self._slots.unused) if bodies[slot]]
        likely = [slot for slot in latest if _looks_alike(bodies[slot], body)]
        return likely + [slot for slot in latest if slot not in likely]


def take(stored: memoryview, bodies: list[bytes]) -> tuple[int, bytes]:
    """The slot it takes, and the body that is to be put there; `bodies` are those in the slots before.

    ValueError when it does not describe one.
    """
    if len(stored) < _HEAD.size:
        raise ValueError("too short")
    slot, source, count = _HEAD.unpack_from(stored)
    begin = _HEAD.size + count * _COPY.size
    if max(slot, source) >= SLOTS or count > MAX_COPIES or begin > len(stored):
        raise ValueError("no slot, or too many copies")
    base = memoryview(bodies[source])
    pieces: list[memoryview] = []
    done = 0
    for at, of, length in _COPY.iter_unpack(stored[_HEAD.size : begin]):
        own = at - done
        if own < 0 or own > len(stored) - begin or of + length > len(base):
            raise ValueError("a copy of what is not there")
        pieces += (stored[begin : begin + own], base[of : of + length])
        begin, done = begin + own, at + length
    return slot, b"".join((*pieces, stored[begin:]))


def find_copies(base: bytes, body: bytes) -> list[Copy]:
    """What lies in both, from their beginnings on and, for the rest, from their ends."""
    copies: list[Copy] = []
    at = of = covered = misses = 0
    while len(copies) < MAX_COPIES - 1 and misses < _MAX_MISSES:
        length = shared_bytes(base, of, body, at)
        misses += length < _MISS_BYTES
        at, of = at + length, of + length
        if length >= _LEAST_BYTES:
            copies.append(Copy(at - length, of - length, length))
            covered = at
        found = _same_again(base, of, body, at)
        if found is None:
            break
        of, at = found
    length = _shared_end(base, body, len(body) - covered)
    if length >= _LEAST_BYTES:
        copies.append(Copy(len(body) - length, len(base) - length, length))
    return copies


def shared_bytes(one: bytes, at: int, other: bytes, at_other: int) -> int:
    """How many bytes are the same from there on."""

    def same(low: int, high: int) -> bool:
        return one.startswith(other[at_other + low : at_other + high], at + low)

    return _reach(min(len(one) - at, len(other) - at_other), same)


def _shared_end(one: bytes, other: bytes, most: int) -> int:
    def same(low: int, high: int) -> bool:
        return one.endswith(other[len(other) - high : len(other) - low], 0, len(one) - low)

    return _reach(min(len(one), most), same)


def _reach(most: int, same: Callable[[int, int], bool]) -> int:
    """How far it is the same, by whether it is from one place to another."""
    low, high, step = 0, most, _STEP_BYTES
    while low < high:
        end = min(low + step, high)
        if same(low, end):
            low = end
        elif end - low == 1:
            return low
        else:
            high, step = end - 1, max(1, (end - low) // 2)
    return low


def _same_again(base: bytes, of: int, body: bytes, at: int) -> tuple[int, int] | None:
    """Where, in both, a stretch that is the same begins behind a difference."""
    for skip in _SKIPS:
        anchor = body[at + skip : at + skip + _ANCHOR_BYTES]
        if len(anchor) < _ANCHOR_BYTES:
            return None
        found = base.find(anchor, of, of + skip + _WINDOW_BYTES)
        if found >= 0:
            return found, at + skip
    return None


def _looks_alike(base: bytes, body: bytes) -> bool:
    """Whether a piece from late in the one is found about there in the other; cheap, and nothing depends on it."""
    at = min(len(base), len(body)) * 3 // 4
    anchor = base[at : at + _ANCHOR_BYTES]
    return bool(anchor) and body.find(anchor, max(0, at - _WINDOW_BYTES), at + _WINDOW_BYTES) >= 0


def _covered(copies: Sequence[Copy]) -> int:
    return sum(copy.length for copy in copies)


def _own_pieces(body: bytes, copies: Sequence[Copy]) -> list[bytes]:
    ends = [0, *(copy.at + copy.length for copy in copies)]
    begins = [*(copy.at for copy in copies), len(body)]
    return [body[end:begin] for end, begin in zip(ends, begins, strict=True) if end < begin]
