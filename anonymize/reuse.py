"""How far prefix reuse in a corpus is from what the provider read from its cache, per model.

A prompt's predicted reuse is the part of it that an earlier request of the session began with, as a share of its local
tokens; the provider's is `cache_read` over its own count, so the tokenizers cancel out. The ratio is above one where
the provider kept less than everything: entries expire (Anthropic's after five minutes, or an hour), a prompt is stored
up to its last `cache_control` mark only, an answer's cache is not there before the answer has begun, steps are coarse
(OpenAI's 128 tokens), and requests of one moment miss one another. It is below one where something else had the prefix:
another session with the same tools, or what came before the recording.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from anonymize.assessment import Ratios, ratios_of
from anonymize.observing import Counted, Observed

# Shorter prefixes are not cached: Anthropic's limit for its large models and OpenAI's for all, by their documentation.
LEAST_REUSED_TOKENS: Final = 1_024


@dataclass(frozen=True, slots=True)
class Reuse:
    """One model's requests that said how much they read and that could have read at least `LEAST_REUSED_TOKENS`."""

    requests: int
    unread: int  # of these read nothing at all
    predicted_tokens: int  # of all of them, in the provider's tokens
    read_tokens: int
    ratios: Ratios | None  # predicted over read, of those that read something; None when there are none


def assess_reuse(sessions: Sequence[Observed]) -> Mapping[str, Reuse]:
    """By public model name; models that never say what they read are left out."""
    told: dict[str, list[Counted]] = {}
    for session in sessions:
        for one in session.requests:
            if one.read_tokens is not None and _predicted(one) >= LEAST_REUSED_TOKENS:
                told.setdefault(one.model, []).append(one)
    return {model: _reuse(requests) for model, requests in told.items()}


def _reuse(requests: Sequence[Counted]) -> Reuse:
    pairs = [(_predicted(one), float(one.read_tokens or 0)) for one in requests]
    read = [pair for pair in pairs if pair[1]]
    return Reuse(
        requests=len(pairs),
        unread=len(pairs) - len(read),
        predicted_tokens=round(sum(predicted for predicted, _ in pairs)),
        read_tokens=round(sum(tokens for _, tokens in pairs)),
        ratios=ratios_of(np.array(read)) if read else None,
    )


def _predicted(one: Counted) -> float:
    return one.tokens * one.repeated_tokens / max(one.local_tokens, 1)
