from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.assessment import assess
from anonymize.features import as_vector
from tests.anonymize.providers import exact, sessions


def test_each_stage_is_closer_than_the_one_before() -> None:
    (found,) = assess(sessions(1, 20)).values()
    off = [abs(found.stages[stage].percentiles[50] - 1) for stage in ("raw", "scaled")]
    shares = [found.stages[stage].within[5] for stage in ("raw", "scaled", "fitted", "pinned")]
    assert off[0] > 0.1 > off[1]
    assert shares == sorted(shares)
    assert shares[-2] > 0.95
    assert found.stages["pinned"].within[1] > 0.95
    assert abs(found.stages["fitted"].token_weighted - 1) < 0.01


def test_what_nobody_can_predict_shows_in_the_held_out_figures_and_not_in_the_pinned_ones() -> None:
    def moody(terms: tuple[tuple[int, float], ...]) -> float:
        return exact(terms) * (0.7 if int(as_vector(terms).sum()) % 2 else 1.3)

    (found,) = assess(sessions(1, 20, moody)).values()
    assert found.stages["fitted"].within[2] < 0.6
    assert found.stages["pinned"].within[2] > 0.9


def test_a_single_session_leaves_nothing_to_hold_out() -> None:
    (found,) = assess(sessions(1, 1)).values()
    assert (found.sessions, dict(found.stages)) == (1, {})
    assert found.requests > 0


def test_models_are_told_apart_and_the_most_used_comes_first() -> None:
    few, many = sessions(1, 2, model="claude-haiku-5-5"), sessions(2, 9)
    found = assess([*few, *many])
    assert list(found) == ["claude-opus-5-5", "claude-haiku-5-5"]
    assert [one.sessions for one in found.values()] == [9, 2]


def test_small_prompts_are_left_out_and_counted() -> None:
    made = sessions(1, 4, lambda _terms: 10.0)
    (found,) = assess(made).values()
    assert (found.requests, found.small) == (0, sum(len(one.requests) for one in made))


@settings(max_examples=15)  # each fits two dozen times
@given(st.integers(0, 50), st.lists(st.integers(0, 10**12), min_size=1, max_size=40))
def test_no_count_is_too_odd(seed: int, counts: list[int]) -> None:
    made = sessions(seed, 3)
    odd = [
        replace(
            session,
            requests=tuple(
                replace(one, tokens=counts[n % len(counts)] + 1, local_tokens=one.local_tokens * (n % 3))
                for n, one in enumerate(session.requests)
            ),
        )
        for session in made
    ]
    for found in assess(odd).values():
        assert all(np.isfinite(list(ratios.percentiles.values())).all() for ratios in found.stages.values())
