from __future__ import annotations

from itertools import pairwise

import numpy as np

from anonymize.fitting import fit_calibration, folds, pinned_totals, usable
from anonymize.observing import Observed
from tests.anonymize.providers import RATIOS, exact, sessions


def errors(seen: list[Observed], held_out: list[Observed]) -> list[float]:
    calibration = fit_calibration(seen, "words", "0" * 64)
    return [
        abs(float(one.features @ calibration.fit(one.model, one.provider).coefficients) / one.tokens - 1)
        for session in held_out
        for one in usable(session)
    ]


def test_a_rule_that_the_features_can_say_is_found() -> None:
    made = sessions(1, 24)
    assert np.quantile(errors(made[:18], made[18:]), 0.95) < 0.01


def test_each_role_spreads_at_its_own_ratio() -> None:
    fit = fit_calibration(sessions(1, 30), "words", "0" * 64).models["claude-opus-5-5"]
    assert fit.sessions == 30
    assert all(abs(fit.spread[role] / ratio - 1) < 0.1 for role, ratio in RATIOS.items())


def test_a_model_seen_in_one_session_stays_close_to_its_siblings() -> None:
    siblings = sessions(1, 24)
    (alone,) = sessions(2, 1, model="claude-haiku-5-5")
    assert np.quantile(errors([*siblings, alone], sessions(3, 4, model="claude-haiku-5-5")), 0.9) < 0.05


def test_a_provider_that_counts_otherwise_has_fits_of_its_own() -> None:
    other = sessions(2, 12, lambda terms: 2 * exact(terms), model="gpt-6.2-sol", provider="openai")
    made = [one for pair in zip(sessions(1, 12), other, strict=True) for one in pair]
    assert set(fit_calibration(made, "words", "0" * 64).models) == {"claude-opus-5-5", "gpt-6.2-sol"}
    assert np.quantile(errors(made[:20], made[20:]), 0.95) < 0.02


def test_every_session_is_held_out_exactly_once_and_never_seen_by_its_fit() -> None:
    made = sessions(1, 12)
    split = list(folds(made))
    assert sorted(id(session) for _, held_out in split for session in held_out) == sorted(map(id, made))
    assert all(
        len(seen) + len(held_out) == 12 and not set(map(id, seen)) & set(map(id, held_out)) for seen, held_out in split
    )
    assert list(folds(made[:1])) == []


def test_pinned_totals_are_the_counts_and_never_shrink_along_a_conversation() -> None:
    made = sessions(1, 6, lambda terms: 1.2 * exact(terms))
    calibration = fit_calibration(sessions(5, 10), "words", "0" * 64)
    for session in made:
        totals = pinned_totals(session, calibration)
        assert all(abs(total / one.tokens - 1) < 0.01 for total, one in zip(totals, session.requests, strict=True))
        assert all(before < after for before, after in pairwise(totals))


def test_small_prompts_are_not_fitted_to() -> None:
    made = sessions(1, 3, lambda _terms: 10.0)
    assert fit_calibration(made, "words", "0" * 64).models == {}
