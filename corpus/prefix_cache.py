"""The prefix cache of an inference server, as arithmetic over block keys: no tokens, no memory, only what would hit.

Keys are chained: a key stands for its block and all blocks before it, so equal keys have equal parents. A prompt is
touched from its last block to its first, and what was touched longest ago goes first. So a block is always
more recent than the blocks behind it, and eviction takes leaves first: the order in which vLLM frees the blocks of a
request. Blocks that running requests hold are not pinned here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence


class PrefixCache:
    """At most `capacity_blocks` blocks (None: no limit); every operation is O(1) per block of the prompt."""

    def __init__(self, capacity_blocks: int | None) -> None:
        if capacity_blocks is not None and capacity_blocks < 0:
            raise ValueError(f"capacity_blocks is {capacity_blocks}")
        self._capacity = capacity_blocks
        self._blocks: OrderedDict[Hashable, None] = OrderedDict()  # longest untouched first

    def __len__(self) -> int:
        return len(self._blocks)

    def match(self, keys: Sequence[Hashable]) -> int:
        """How many leading blocks are present; touches them."""
        hits = 0
        for key in keys:
            if key not in self._blocks:
                break
            hits += 1
        for key in reversed(keys[:hits]):
            self._blocks.move_to_end(key)
        return hits

    def insert(self, keys: Sequence[Hashable]) -> None:
        """Touches all blocks of a prompt, new ones included; one longer than the cache keeps its leading blocks."""
        for key in reversed(keys[: self._capacity]):
            self._blocks[key] = None
            self._blocks.move_to_end(key)
        while self._capacity is not None and len(self._blocks) > self._capacity:
            self._blocks.popitem(last=False)
