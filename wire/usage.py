"""Token usage as providers report it, brought to one shape.

The three APIs disagree on what "input" means: Anthropic's `input_tokens` excludes what was read from or written to the
cache, OpenAI's includes it. Here `input_tokens` is always the whole prompt. `None` means "the provider did not say",
never zero.
"""

from __future__ import annotations

from dataclasses import dataclass

from wire.api import Api


@dataclass(frozen=True, slots=True)
class Usage:
    """Provider-counted tokens of one exchange; every field may be unknown."""

    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None


def normalise_usage(api: Api, usage: object) -> Usage | None:
    """Read the provider's `usage` JSON object; None when it is no object or holds no known count."""
    raise NotImplementedError
