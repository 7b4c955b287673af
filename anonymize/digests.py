"""Block numbers of a session: equal number if and only if the whole prompt up to the block's end is equal.

Every full block of 64 tokens gets the keyed BLAKE2b-128 of (digest of the block before, its tokens), so that a digest
stands for a whole prefix. Digests are then replaced by 1, 2, 3, ... in order of first appearance and never leave this
module; neither does the key, which its owner forgets with the session. What remains is a pattern of equality, the same
under every key, with nothing to look up in a dictionary.

The first digest mixes a domain string, the tokenizer and the model: another model cannot reuse a cache, so a change of
model starts a new chain. All agents of a session share the numbers. A partial last block is dropped: short tails are
guessable and would be equal to nothing anyway.

Work follows new content: prompts are remembered as a tree of segments, so a request walks its known segments by number
and hashes only from the first new one on.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from anonymize.tokens import Tokens

KEY_BYTES: Final = 32
_DIGEST_BYTES: Final = 16
_DOMAIN: Final = "agentreel blocks 1"


class _Node:
    """State of a chain behind one segment: last block's digest, tokens not yet in a block, numbers it added."""

    __slots__ = ("added", "children", "digest", "tail")

    def __init__(self, digest: bytes, tail: bytes, added: tuple[int, ...]) -> None:
        self.digest = digest
        self.tail = tail
        self.added = added
        self.children: dict[int, _Node] = {}


class BlockChains:
    """Chains of one session. Feed prompts in request start order, since numbers go by first appearance."""

    def __init__(self, key: bytes, tokenizer_sha256: str, block_size: int) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"the session key must have {KEY_BYTES} bytes, not {len(key)}")
        self._key = key
        self._namespace = f"{_DOMAIN}\0{tokenizer_sha256}\0{block_size}\0"
        self._block_bytes = 4 * block_size
        self._roots: dict[str, _Node] = {}
        self._numbers: dict[bytes, int] = {}
        self.hashed = 0
        """Blocks hashed so far: the work done."""

    def known_segments(self, model: str, handles: Sequence[int]) -> int:
        """How many leading segments an earlier prompt of this model began with."""
        node = self._roots.get(model)
        for depth, handle in enumerate(handles):
            node = node.children.get(handle) if node else None
            if node is None:
                return depth
        return len(handles)

    def blocks(self, model: str, prompt: Sequence[tuple[int, Tokens]]) -> list[int]:
        """Block numbers of a prompt given as (segment number, tokens) pairs; equal numbers mean equal tokens."""
        node = self._root(model)
        numbers: list[int] = []
        for handle, tokens in prompt:
            child = node.children.get(handle)
            if child is None:
                child = node.children[handle] = self._extend(node, tokens)
            node = child
            numbers.extend(node.added)
        return numbers

    def _root(self, model: str) -> _Node:
        if model not in self._roots:
            text = (self._namespace + model).encode("utf-8", "surrogatepass")
            self._roots[model] = _Node(self._digest(text), b"", ())
        return self._roots[model]

    def _extend(self, node: _Node, tokens: Tokens) -> _Node:
        data = node.tail + tokens.astype("<u4", copy=False).tobytes()
        digest, added, size = node.digest, [], self._block_bytes
        full = len(data) - len(data) % size
        for start in range(0, full, size):
            digest = self._digest(digest + data[start : start + size])
            added.append(self._numbers.setdefault(digest, len(self._numbers) + 1))
        self.hashed += len(added)
        return _Node(digest, data[full:], tuple(added))

    def _digest(self, data: bytes) -> bytes:
        return blake2b(data, digest_size=_DIGEST_BYTES, key=self._key).digest()
