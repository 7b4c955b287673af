"""Fits a calibration to observed sessions, and says how far off it is on sessions that it has not seen.

A provider's requests are fitted together first; each of its models is then fitted with that as the prior, so a model
seen only a few times is close to its siblings. Held-out figures come from five folds split by session, never by
request: requests of one session repeat each other. Prompts under a thousand tokens are left out of fit and figures:
there a constant off by five tokens looks like a bad fit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from anonymize.calibration import Calibration, Fit, Provider, local_fit, pinned_lengths
from anonymize.features import FEATURES, INDEX, TEXT_ROLES, Vector
from anonymize.observing import Counted, Observed
from anonymize.regression import fit_relative
from corpus.session import Role

SMALLEST_PROMPT: Final = 1_000  # tokens
_FOLDS: Final = 5
_FORMULAS: Final = ("image", "document")


def usable(session: Observed) -> list[Counted]:
    """Requests to fit to and to judge by."""
    return [one for one in session.requests if is_usable(one)]


def is_usable(one: Counted) -> bool:
    return one.tokens >= SMALLEST_PROMPT and one.local_tokens > 0


def fit_calibration(sessions: Sequence[Observed], tokenizer: str, tokenizer_sha256: str) -> Calibration:
    """One fit for each model and provider that has a usable request."""
    providers: dict[Provider, list[tuple[int, Counted]]] = defaultdict(list)
    models: dict[tuple[Provider, str], list[tuple[int, Counted]]] = defaultdict(list)
    for number, session in enumerate(sessions):
        for one in usable(session):
            providers[one.provider].append((number, one))
            models[one.provider, one.model].append((number, one))
    pooled = {provider: _fit(rows, None) for provider, rows in providers.items()}
    fits = {model: _fit(rows, pooled[provider]) for (provider, model), rows in models.items()}
    return Calibration(tokenizer, tokenizer_sha256, fits, pooled)


def folds(sessions: Sequence[Observed]) -> Iterator[tuple[list[Observed], list[Observed]]]:
    """Pairs of (sessions to fit, sessions held out); every session is held out once. Nothing for a single session."""
    count = min(_FOLDS, len(sessions))
    for fold in range(count if count > 1 else 0):
        held_out = [session for number, session in enumerate(sessions) if number % count == fold]
        yield [session for number, session in enumerate(sessions) if number % count != fold], held_out


def pinned_totals(session: Observed, calibration: Calibration) -> list[int]:
    """What each counted request would measure in a corpus built with this calibration."""
    assigned: dict[int, int] = {-1: 0}  # tokens up to a node
    totals = []
    for one in session.requests:
        fit = calibration.fit(one.model, one.provider)
        path = _path(session, one.leaf, assigned)
        if session.nodes[path[0]].before < 0:  # the hidden prompt has the same size for all
            assigned[path[0]] = fit.hidden_tokens(session.nodes[path[0]].terms)
            del path[0]
        start = assigned[session.nodes[path[0]].before] if path else 0
        expected = [fit.tokens(session.nodes[node].terms) for node in path]
        for node, length in zip(path, pinned_lengths(expected, start, one.tokens), strict=True):
            start = assigned[node] = start + length
        totals.append(assigned[one.leaf])
    return totals


def _path(session: Observed, leaf: int, assigned: Mapping[int, int]) -> list[int]:
    """Nodes up to `leaf` that have no length yet, from the front."""
    path: list[int] = []
    while leaf not in assigned:
        path.append(leaf)
        leaf = session.nodes[leaf].before
    return path[::-1]


def _fit(rows: Sequence[tuple[int, Counted]], pooled: Fit | None) -> Fit:
    """`rows`: requests with the number of their session."""
    requests = [one for _, one in rows]
    features = np.stack([one.features for one in requests])
    counted = np.array([one.tokens for one in requests], dtype=np.float64)
    scale = float(np.median(counted / [one.local_tokens for one in requests]))
    prior = pooled.coefficients if pooled else _scaled(local_fit().coefficients, scale)
    coefficients = fit_relative(features, counted, prior)
    return Fit(len(rows), len({number for number, _ in rows}), scale, coefficients, _spread(features, coefficients))


def _scaled(coefficients: Vector, scale: float) -> Vector:
    """The local count times one factor, formulas and provider counts as they are."""
    local = [name.endswith(("_tokens", "_visible")) and not name.startswith(_FORMULAS) for name in FEATURES]
    return np.where(local, scale, 1.0) * coefficients


def _spread(features: Vector, coefficients: Vector) -> dict[Role, float]:
    """Predicted tokens per local token of each role's text, framing aside, over all requests."""
    sums = features.sum(axis=0)
    spread: dict[Role, float] = {}
    for role in TEXT_ROLES:
        first = INDEX[f"{role}_tokens"]
        predicted = float(sums[first : first + 2] @ coefficients[first : first + 2])
        if sums[first] > 0 and predicted > 0:
            spread[role] = predicted / float(sums[first])
    return spread
