"""Token usage as providers report it, brought to one shape.

The three APIs disagree on what "input" means: Anthropic's `input_tokens` excludes what was read from or written to the
cache, OpenAI's includes it. Here `input_tokens` is always the whole prompt. `None` means "the provider did not say",
never zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from wire.api import Api
from wire.jsonbody import count


@dataclass(frozen=True, slots=True)
class Usage:
    """Provider-counted tokens of one exchange; every field may be unknown."""

    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None


# field of Usage -> where the provider says it, first known count wins
_Sources = dict[str, tuple[tuple[str, ...], ...]]

_ANTHROPIC: Final[_Sources] = {
    "input_tokens": (("input_tokens",),),  # without the two below, which are added
    "cache_read_tokens": (("cache_read_input_tokens",),),
    "cache_write_tokens": (("cache_creation_input_tokens",),),
    "output_tokens": (("output_tokens",),),
}
_ANTHROPIC_CACHE_KEYS: Final = ("cache_read_input_tokens", "cache_creation_input_tokens")
_RESPONSES: Final[_Sources] = {
    "input_tokens": (("input_tokens",),),
    "cache_read_tokens": (("input_tokens_details", "cached_tokens"),),
    "cache_write_tokens": (("input_tokens_details", "cache_write_tokens"),),
    "output_tokens": (("output_tokens",),),
    "reasoning_tokens": (("output_tokens_details", "reasoning_tokens"),),
}
_CHAT: Final[_Sources] = {
    "input_tokens": (("prompt_tokens",),),
    "cache_read_tokens": (("prompt_tokens_details", "cached_tokens"),),
    "cache_write_tokens": (
        ("prompt_tokens_details", "cache_write_tokens"),
        ("prompt_tokens_details", "created_cache_tokens"),  # vLLM
    ),
    "output_tokens": (("completion_tokens",),),
    "reasoning_tokens": (("completion_tokens_details", "reasoning_tokens"),),
}
_SOURCES: Final[dict[Api, _Sources]] = {
    "anthropic-messages": _ANTHROPIC,
    "openai-responses": _RESPONSES,
    "openai-responses-ws": _RESPONSES,
    "openai-chat": _CHAT,
}


def normalise_usage(api: Api, usage: object) -> Usage | None:
    """Read the provider's `usage` JSON object; None when it is no object or holds no known count."""
    if not isinstance(usage, dict) or api not in _SOURCES:
        return None
    counts = {field: _first_count(usage, paths) for field, paths in _SOURCES[api].items()}
    if api == "anthropic-messages":
        counts["input_tokens"] = _whole_anthropic_input(usage, counts)
    return Usage(**counts) if any(value is not None for value in counts.values()) else None


def _first_count(usage: dict[str, Any], paths: tuple[tuple[str, ...], ...]) -> int | None:
    for path in paths:
        value: object = usage
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if (known := count(value)) is not None:
            return known
    return None


def _whole_anthropic_input(usage: dict[str, Any], counts: dict[str, int | None]) -> int | None:
    """A cache count not sent, or null, means no cache was involved; one that makes no sense spoils the sum."""
    cache = [count(usage[key]) for key in _ANTHROPIC_CACHE_KEYS if usage.get(key) is not None]
    addends = [counts["input_tokens"], *cache]
    known = [addend for addend in addends if addend is not None]
    return sum(known) if len(known) == len(addends) else None
