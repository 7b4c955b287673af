"""Which single requests are calls beside the conversation rather than an agent: one table for both graphs of this room.

    shape      a single request that ...
    other      runs on another model than the conversation beside it
    small      has a prompt below 16,384 tokens or a tenth of that conversation's largest
    reduction  makes less than 4,000 tokens of at least 16,384, a twentieth or less

Numbers: defaults of agentx-harness 1.0.12 (environment `AIPERF_DATASET_WEKA_AUX_*`).
"""

from __future__ import annotations

from typing import Final

from corpus.session import Request

_SMALL_TOKENS: Final = 16384
_SMALL_SHARE: Final = 0.10
_REDUCED_TOKENS: Final = 4000
_REDUCED_RATIO: Final = 20


def is_small(input_tokens: int, peak_tokens: int) -> bool:
    return input_tokens < max(_SMALL_TOKENS, int(_SMALL_SHARE * peak_tokens))


def is_reduction(input_tokens: int, output_tokens: int) -> bool:
    return (
        0 < output_tokens < _REDUCED_TOKENS
        and input_tokens >= _SMALL_TOKENS
        and input_tokens > _REDUCED_RATIO * output_tokens
    )


def looks_like_one_off(request: Request, peak_tokens: int) -> bool:
    """By its size alone."""
    return is_small(request.input_tokens, peak_tokens) or is_reduction(request.input_tokens, request.output_tokens or 0)
