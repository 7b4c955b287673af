from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.calibration import Calibration, local_fit, pinned_lengths
from anonymize.features import INDEX, prompt_terms, segment_terms
from anonymize.segments import Segment
from anonymize.tokens import SegmentTokens
from tests.anonymize.exchanges import WordTokenizer

sizes = st.lists(st.floats(1, 5_000), min_size=1, max_size=30)


@given(sizes, st.integers(0, 10_000), st.floats(0.5, 2))
def test_new_segments_fill_the_count_exactly(expected: list[float], assigned: int, factor: float) -> None:
    counted = assigned + round(sum(expected) * factor)
    lengths = pinned_lengths(expected, assigned, counted)
    assert min(lengths) >= 1
    smallest = sum(1 for one in expected if one * factor < 1.5)  # those that rounding lifts to a whole token
    assert abs(assigned + sum(lengths) - counted) <= 1 + smallest + 0.02 * counted


@given(sizes, st.integers(0, 10_000), st.integers(0, 100_000))
def test_a_senseless_count_stretches_no_more_than_twofold(expected: list[float], assigned: int, counted: int) -> None:
    total = sum(pinned_lengths(expected, assigned, counted))
    assert 0.5 * sum(expected) - 1 <= total <= 2 * sum(expected) + len(expected)


@given(sizes, st.integers(0, 10_000))
def test_without_a_count_lengths_are_what_is_expected(expected: list[float], assigned: int) -> None:
    assert abs(sum(pinned_lengths(expected, assigned, None)) - sum(expected)) <= len(expected)


def test_a_model_without_a_fit_takes_its_providers_and_then_the_local_count() -> None:
    local = local_fit()
    own, anthropic = replace(local, scale=1.5), replace(local, scale=1.7)
    calibration = Calibration("words", "0" * 64, {"claude-opus-5-5": own}, {"anthropic": anthropic})
    assert calibration.fit("claude-opus-5-5", "anthropic") is own
    assert calibration.fit("claude-haiku-5-5", "anthropic") is anthropic
    assert calibration.fit("gpt-6", "openai").scale == 1.0


@pytest.mark.parametrize("segment", [Segment("user", "one two three"), Segment("image", "", "ab" * 16)])
def test_the_local_fit_is_the_local_count(segment: Segment) -> None:
    memo = SegmentTokens(WordTokenizer())
    one = memo.interned(memo.handle(segment))
    assert local_fit().tokens(segment_terms(one, None)) == len(one.tokens) - one.is_placeholder


def test_the_hidden_prompt_depends_on_tools_and_on_having_to_call_one() -> None:
    fit = local_fit()
    coefficients = np.zeros_like(fit.coefficients)
    coefficients[[INDEX[f"hidden_{name}"] for name in ("prompt", "tools", "forced")]] = 30.4, 300.4, 120.0
    fit = replace(fit, coefficients=coefficients)
    assert [fit.hidden_tokens(prompt_terms(hidden)) for hidden in ("plain", "tools", "forced")] == [30, 331, 451]
