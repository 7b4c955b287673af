"""A prefix cache as slow as it is plain: every block knows when it was last used, and the list is sorted to evict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from corpus.blocks import expand_blocks
from corpus.session import Session

BLOCK = 64
Key = tuple[int, tuple[int, ...]]  # session, all blocks from the first to this one


def keys_of(session: Session) -> list[list[Key]]:
    """Of every request, its whole blocks."""
    prompts = expand_blocks([request.blocks for request in session.requests])
    whole = [request.input_tokens // session.block_size for request in session.requests]
    return [
        [(session.session, tuple(ids[: end + 1].tolist())) for end in range(min(len(ids), count))]
        for ids, count in zip(prompts, whole, strict=True)
    ]


@dataclass
class BruteCache:
    capacity: int  # blocks
    ttl_us: int | None = None
    used: dict[object, tuple[bool, int, int]] = field(default_factory=dict)  # is its session live, when, -position
    at_us: dict[object, int] = field(default_factory=dict)
    owner: dict[object, int] = field(default_factory=dict)  # session
    when: int = 0

    def serve(self, session: int, keys: Sequence[Key], at_us: int, prompt_tokens: int, answers: int = 0) -> int:
        """Tokens served; then the prompt and its answer's blocks are in the cache, as far as they fit."""
        hits = self.would_serve(keys, at_us, prompt_tokens)
        self.when += 1
        for position, key in enumerate([*keys, *(("answer", self.when, n) for n in range(answers))]):
            self.used[key] = (True, self.when, -position)
            self.at_us[key] = at_us
            self.owner[key] = session
        for gone in sorted(self.used, key=self.used.__getitem__)[: max(0, len(self.used) - self.capacity)]:
            del self.used[gone]
        return hits

    def would_serve(self, keys: Sequence[Key], at_us: int, prompt_tokens: int) -> int:
        hits = 0
        while hits < len(keys) and keys[hits] in self.used and not self._is_lost(keys[hits], at_us):
            hits += 1
        return min(hits, max(0, prompt_tokens - 1) // BLOCK) * BLOCK

    def end(self, session: int) -> None:
        """The session's blocks go before all others."""
        for key, (_, when, position) in self.used.items():
            if self.owner[key] == session:
                self.used[key] = (False, when, position)

    def _is_lost(self, key: Key, at_us: int) -> bool:
        return self.ttl_us is not None and at_us - self.at_us[key] > self.ttl_us
