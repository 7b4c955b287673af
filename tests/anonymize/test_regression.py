from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anonymize.regression import fit_relative

TRUTH = np.array([1.5, 0.0, 4.0, 800.0])


def prompts(seed: int, rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    tokens = random.lognormal(9, 1, rows)
    features = np.stack([tokens, random.lognormal(8, 1, rows), random.integers(1, 90, rows), np.ones(rows)], axis=1)
    return features, features @ TRUTH


@given(st.integers(0, 100))
def test_exact_counts_are_found_again(seed: int) -> None:
    features, counted = prompts(seed)
    found = fit_relative(features, counted, np.ones(4))
    assert np.quantile(np.abs(features @ found / counted - 1), 0.95) < 0.01


@given(st.integers(0, 100))
def test_a_tenth_of_nonsense_does_not_bend_the_fit(seed: int) -> None:
    features, counted = prompts(seed)
    heard = counted.copy()
    heard[::10] *= 5
    found = fit_relative(features, heard, np.ones(4))
    assert np.median(np.abs(features @ found / counted - 1)) < 0.02


@given(st.integers(0, 100), st.integers(1, 30))
def test_no_coefficient_is_negative(seed: int, rows: int) -> None:
    random = np.random.default_rng(seed)
    features = random.lognormal(3, 2, (rows, 6))
    assert fit_relative(features, random.lognormal(9, 1, rows), np.ones(6)).min() >= 0


def test_without_data_the_prior_stays() -> None:
    prior = np.array([1.0, 2.0])
    assert fit_relative(np.empty((0, 2)), np.empty(0), prior).tolist() == [1.0, 2.0]
    found = fit_relative(np.array([[10.0, 0.0]] * 50), np.full(50, 30.0), prior)
    assert found[1] == 2.0
    assert abs(found[0] - 3.0) < 0.2


def test_what_the_data_cannot_tell_apart_shares_as_the_prior_does() -> None:
    found = fit_relative(np.array([[100.0, 100.0]] * 9), np.full(9, 400.0), np.array([1.0, 2.0]))
    assert np.abs(found - [1.5, 2.5]).max() < 0.01
