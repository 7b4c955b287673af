"""How far reconstructed lengths are from the provider's counts, per model and per stage.

Stages: `raw`, the local tokenizer's count; `scaled`, that times one factor per model; `fitted`, the regression; all
three on sessions that the factor or fit has not seen. `pinned` has seen the counts it is compared with: it says how
often a conversation's counts could be met, and nothing about the accuracy of a model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from anonymize.calibration import Calibration
from anonymize.fitting import fit_calibration, folds, is_usable, pinned_totals, usable
from anonymize.observing import Counted, Observed

Stage = Literal["raw", "scaled", "fitted", "pinned"]

_PERCENTILES: Final = (1, 5, 50, 95, 99)
_WITHIN: Final = (1, 2, 5, 10)  # percent


@dataclass(frozen=True, slots=True)
class Ratios:
    """Reconstructed tokens over counted tokens of one stage."""

    percentiles: Mapping[int, float]
    within: Mapping[int, float]  # percent off at most -> share of requests
    token_weighted: float  # all reconstructed over all counted


@dataclass(frozen=True, slots=True)
class Assessment:
    """One model. `stages` is empty when there was no second session to hold out."""

    requests: int
    sessions: int
    small: int  # prompts under `fitting.SMALLEST_PROMPT`, left out
    stages: Mapping[Stage, Ratios]


def assess(sessions: Sequence[Observed]) -> dict[str, Assessment]:
    """By public model name, most requests first."""
    found: dict[str, dict[Stage, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for seen, held_out in folds(sessions):
        calibration = fit_calibration(seen, "", "")
        for session in held_out:
            for one, stages in _reconstructed(session, calibration):
                for stage, tokens in stages.items():
                    found[one.model][stage].append((tokens, one.tokens))
    models = sorted({one.model for session in sessions for one in session.requests})
    made = {model: _assessment(model, sessions, found[model]) for model in models}
    return dict(sorted(made.items(), key=lambda item: -item[1].requests))


def _reconstructed(session: Observed, calibration: Calibration) -> list[tuple[Counted, dict[Stage, float]]]:
    pinned = pinned_totals(session, calibration)
    made: list[tuple[Counted, dict[Stage, float]]] = []
    for one, total in zip(session.requests, pinned, strict=True):
        if is_usable(one):
            fit = calibration.fit(one.model, one.provider)
            local, fitted = float(one.local_tokens), float(one.features @ fit.coefficients)
            made.append((one, {"raw": local, "scaled": local * fit.scale, "fitted": fitted, "pinned": total}))
    return made


def _assessment(
    model: str, sessions: Sequence[Observed], stages: Mapping[Stage, Sequence[tuple[float, float]]]
) -> Assessment:
    counted = [[one for one in session.requests if one.model == model] for session in sessions]
    used = [[one for one in usable(session) if one.model == model] for session in sessions]
    return Assessment(
        requests=sum(map(len, used)),
        sessions=sum(map(bool, used)),
        small=sum(map(len, counted)) - sum(map(len, used)),
        stages={stage: ratios_of(np.array(pairs)) for stage, pairs in stages.items()},
    )


def ratios_of(pairs: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> Ratios:
    """`pairs`: what was made and what was counted, one a row."""
    ratios = pairs[:, 0] / pairs[:, 1]
    return Ratios(
        percentiles={p: float(np.percentile(ratios, p)) for p in _PERCENTILES},
        within={w: float((np.abs(ratios - 1) <= w / 100).mean()) for w in _WITHIN},
        token_weighted=float(pairs[:, 0].sum() / pairs[:, 1].sum()),
    )
