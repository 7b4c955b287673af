"""Block numbers of a session: equal number if and only if the whole prompt up to the block's end is equal.

Every full block of 64 tokens gets the keyed BLAKE2b-128 of (digest of the block before, its tokens), so that a digest
stands for a whole prefix. Digests are then replaced by 1, 2, 3, ... in order of first appearance and never leave this
module; neither does the key, which its owner forgets with the session. What remains is a pattern of equality, the same
under every key, with nothing to look up in a dictionary.

The first digest mixes a domain string, the tokenizer and the model: another model cannot reuse a cache, so a change of
model starts a new chain. All agents of a session share the numbers. A partial last block is dropped: short tails are
guessable and would be equal to nothing anyway.

Work follows new content: prompts are remembered as a tree of places, one behind each segment of each distinct prefix,
so a request walks its known segments by number and hashes only from the first new one on. A segment's tokens are fixed
when its place is made, and every later prompt with the same beginning, a fork's too, finds them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from anonymize.tokens import Tokens
from corpus.session import Role

KEY_BYTES: Final = 32
_DIGEST_BYTES: Final = 16
_DOMAIN: Final = "agentreel blocks 1"


class Place:
    """The end of one segment of one prefix: what a prompt that continues here needs to know."""

    __slots__ = ("added", "children", "cut", "digest", "numbers", "tail", "total")

    def __init__(self, cut: tuple[Role, int], total: int, digest: bytes, tail: bytes, added: list[int]) -> None:
        self.cut: Final = cut  # role and tokens of this segment
        self.total: Final = total  # tokens of the whole prefix
        self.digest: Final = digest  # of the last full block
        self.tail: Final = tail  # tokens that fill no block yet
        self.added: Final = added  # numbers of the blocks that this segment completed
        self.numbers: NDArray[np.int64] | None = None  # of the whole prefix, where it was asked for
        self.children: Final[dict[int, Place]] = {}


class BlockChains:
    """Chains of one session. Feed prompts in request start order, since numbers go by first appearance."""

    def __init__(self, key: bytes, tokenizer_sha256: str, block_size: int) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"the session key must have {KEY_BYTES} bytes, not {len(key)}")
        self._key = key
        self._namespace = f"{_DOMAIN}\0{tokenizer_sha256}\0{block_size}\0"
        self._block_bytes = 4 * block_size
        self._roots: dict[str, Place] = {}
        self._numbers: dict[bytes, int] = {}
        self.hashed = 0
        """Blocks hashed so far: the work done."""

    def known(self, model: str, handles: Iterable[int]) -> list[Place]:
        """Places of the leading segments that an earlier prompt of this model began with, the root first."""
        place = self._root(model)
        places = [place]
        for handle in handles:
            child = place.children.get(handle)
            if child is None:
                break
            places.append(child)
            place = child
        return places

    def grow(self, place: Place, handle: int, role: Role, tokens: Tokens) -> Place:
        """The place behind one more segment, which no prompt had here before."""
        data = place.tail + tokens.astype("<u4", copy=False).tobytes()
        digest, added, block = place.digest, [], self._block_bytes
        full = len(data) - len(data) % block
        for start in range(0, full, block):
            digest = self._digest(digest + data[start : start + block])
            added.append(self._numbers.setdefault(digest, len(self._numbers) + 1))
        self.hashed += len(added)
        size = len(tokens)
        child = place.children[handle] = Place((role, size), place.total + size, digest, data[full:], added)
        return child

    def _root(self, model: str) -> Place:
        if model not in self._roots:
            text = (self._namespace + model).encode("utf-8", "surrogatepass")
            self._roots[model] = Place(("system", 0), 0, self._digest(text), b"", [])
        return self._roots[model]

    def _digest(self, data: bytes) -> bytes:
        return blake2b(data, digest_size=_DIGEST_BYTES, key=self._key).digest()


def block_numbers(places: Sequence[Place]) -> NDArray[np.int64]:
    """Numbers of all blocks of the prompt that these places make; not to be written to."""
    last = places[-1]
    if last.numbers is None:
        depth = next((n for n in range(len(places) - 1, 0, -1) if places[n].numbers is not None), 0)
        known = places[depth].numbers
        new = [number for place in places[depth + 1 :] for number in place.added]
        fresh = np.array(new, dtype=np.int64)
        last.numbers = fresh if known is None else np.concatenate([known, fresh])
    return last.numbers
