"""What a run cost: throughput per chip, dollars per million tokens, joules per token; pure.

Dollars are of the whole server for the time of profiling, so they count idle time, and all tokens or the generated ones
carry them alone: two ways to say the same money, not parts of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from corpus.errors import InputError

_CHIPS: Final = "chips"


def chips_of(labels: Mapping[str, str]) -> int:
    """Of the label `chips`; 1 without it. InputError for what is no number of chips."""
    text = labels.get(_CHIPS, "1")
    if not text.isdecimal() or int(text) < 1:
        raise InputError("--label", f"{_CHIPS}={text} is no number of chips", "for example --label chips=8")
    return int(text)


def economy(
    tokens_in: int,
    tokens_out: int,
    duration_s: float | None,
    *,
    chips: int,
    price: float | None,
    energy_j: float | None,
) -> dict[str, float | None]:
    """`price`: US$ an hour for one chip. What is not known is null."""
    tokens = tokens_in + tokens_out
    dollars = None if price is None or duration_s is None else price * chips * duration_s / 3600
    return {
        "chips": chips,
        "throughput_tps_per_chip": _per(tokens, duration_s, chips),
        "output_tps_per_chip": _per(tokens_out, duration_s, chips),
        "usd_per_million_tokens": _per(dollars, tokens / 1e6),
        "usd_per_million_output_tokens": _per(dollars, tokens_out / 1e6),
        "energy_j": energy_j,
        "joules_per_output_token": _per(energy_j, tokens_out),
        "output_tokens_per_joule": _per(tokens_out, energy_j),
    }


def _per(amount: float | None, of: float | None, chips: int = 1) -> float | None:
    return None if amount is None or not of else amount / of / chips
