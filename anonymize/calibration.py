"""Lengths as the provider counts them: a fit per model says how large a segment should be, its usage how large it was.

The fit is a prior. Requests of one conversation only append, so the difference between two counts is the exact size of
what was added; pinning gives the new segments of each request what is left of the count, split as the fit says. A
length once given stays, so nothing is ever padded twice or in another place: prefixes are reused as before. The hidden
prompt that a provider puts in front is a segment of its own, of one size for all requests of a model with
tools, without them, or with one that has to be called.

A model without a fit takes its provider's, and without that the local count. A fit names public models only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from anonymize.features import FEATURES, TEXT_ROLES, Terms, Vector, weigh
from corpus.session import Role
from wire.api import Api

Provider = Literal["anthropic", "openai"]

# What a group of new segments may measure against the fit. Beyond it the count speaks of something that is not in the
# prompt (an edited history, a dropped thought, a tool of the provider's): the rest is reported, not forced.
_SMALLEST, _LARGEST = 0.5, 2.0


def provider_of(api: Api) -> Provider:
    """Whose way of counting an API has; anything that is not Anthropic's speaks OpenAI's."""
    return "anthropic" if api == "anthropic-messages" else "openai"


@dataclass(frozen=True, slots=True)
class Fit:
    """How one model's provider counts. `coefficients`: one per name of `FEATURES`."""

    requests: int  # it was fitted to
    sessions: int
    scale: float  # provider tokens per local token, all in all
    coefficients: Vector
    spread: Mapping[Role, float]  # provider tokens per local token of a role's text

    def hidden_tokens(self, terms: Terms) -> int:
        """Tokens of what the provider puts in front of a prompt (`anonymize.features.prompt_terms`)."""
        return max(round(weigh(terms, self.coefficients)), 0)

    def tokens(self, terms: Terms) -> float:
        """Expected size of a segment, at least 1."""
        return max(weigh(terms, self.coefficients), 1.0)


def local_fit() -> Fit:
    """Counts as the local tokenizer does, one token more for each segment."""
    coefficients = np.zeros(len(FEATURES))
    for number, name in enumerate(FEATURES):
        coefficients[number] = float(name.endswith(("_tokens", "_pieces", "thought_output", "thought_visible")))
    return Fit(0, 0, 1.0, coefficients, dict.fromkeys(TEXT_ROLES, 1.0))


@dataclass(frozen=True, slots=True)
class Calibration:
    """Fits by public model name and by provider, valid for counts of one tokenizer."""

    tokenizer: str
    tokenizer_sha256: str
    models: Mapping[str, Fit]
    providers: Mapping[Provider, Fit]

    def fit(self, model: str, provider: Provider) -> Fit:
        return self.models.get(model) or self.providers.get(provider) or _LOCAL


_LOCAL: Final = local_fit()


def pinned_lengths(expected: Sequence[float], assigned: int, counted: int | None) -> list[int]:
    """Lengths of a request's new segments: what `counted` leaves beside `assigned`, split as `expected`.

    Without a count, or where it makes no sense, the expectation itself. Each is at least 1; rounding is carried on, so
    that the sum is right.
    """
    total = sum(expected)
    factor = 1.0
    if counted is not None and total > 0:
        factor = min(max((counted - assigned) / total, _SMALLEST), _LARGEST)
    lengths: list[int] = []
    exact = 0.0
    given = 0
    for one in expected:
        exact += one * factor
        lengths.append(max(round(exact) - given, 1))
        given += lengths[-1]
    return lengths
