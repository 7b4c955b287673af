"""Token counts as a provider with a prompt cache would report them.

Four bytes of a part's text are one token: cheap, the same every time, and growing as the prompt grows. The cache works
in units of 64 tokens over tools, system and messages in the provider's order, one cache for each model, and remembers
everything (a provider's five minutes are longer than a demo). The billing line and deferred tool definitions count for
nothing, since providers keep them out of the cached prefix.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import xxhash

from corpus.prefix_cache import PrefixCache
from wire.prompt import Prompt

_TOKEN_BYTES: Final = 4
_UNIT_TOKENS: Final = 64
_UNIT_BYTES: Final = _UNIT_TOKENS * _TOKEN_BYTES
_OPAQUE_LIMIT: Final = 6000  # bytes; an image costs at most about 1,500 tokens
_REMEMBERED_UNITS: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Counted:
    """`digest` names the whole prompt; equal prompts have equal digests."""

    input_tokens: int
    cached_tokens: int
    digest: str

    @property
    def written_tokens(self) -> int:
        """Tokens in whole units that the cache did not hold yet."""
        return self.input_tokens // _UNIT_TOKENS * _UNIT_TOKENS - self.cached_tokens


@dataclass(slots=True)
class ProviderCache:
    _caches: dict[str, PrefixCache] = field(default_factory=dict)

    def count(self, prompt: Prompt, *, store: bool = True) -> Counted:
        """Count one prompt and, with `store`, remember it for the next."""
        data = b"".join(_prompt_bytes(prompt))
        tokens = max(1, -(-len(data) // _TOKEN_BYTES))
        keys = _unit_keys(data)
        cache = self._caches.setdefault(prompt.model or "", PrefixCache(_REMEMBERED_UNITS))
        cached = cache.match(keys[: (tokens - 1) // _UNIT_TOKENS]) * _UNIT_TOKENS if store else 0
        if store:
            cache.insert(keys)
        return Counted(tokens, cached, xxhash.xxh3_128_hexdigest(data))


def text_tokens(text: str) -> int:
    return -(-len(text.encode(errors="replace")) // _TOKEN_BYTES)


def _prompt_bytes(prompt: Prompt) -> Iterator[bytes]:
    for part in prompt.parts:
        if part.kind == "billing" or part.deferred:
            continue
        yield f"\n{part.role} {part.kind} {part.name or ''}\n{part.text}".encode(errors="replace")
        if part.opaque_bytes:
            size = min(part.opaque_bytes, _OPAQUE_LIMIT)
            digest = (part.digest or "-").encode()
            yield (digest * (size // len(digest) + 1))[:size]


def _unit_keys(data: bytes) -> tuple[int, ...]:
    state, keys, view = xxhash.xxh3_64(), [], memoryview(data)
    for start in range(0, len(data) // _UNIT_BYTES * _UNIT_BYTES, _UNIT_BYTES):
        state.update(view[start : start + _UNIT_BYTES])
        keys.append(state.intdigest())
    return tuple(keys)
