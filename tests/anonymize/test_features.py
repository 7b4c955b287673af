from __future__ import annotations

import numpy as np

from anonymize.features import FEATURES, INDEX, Born, as_vector, prompt_terms, segment_terms, weigh
from anonymize.segments import Segment
from anonymize.tokens import SegmentTokens
from tests.anonymize.exchanges import WordTokenizer


def named(segment: Segment, born: Born | None = None) -> dict[str, float]:
    memo = SegmentTokens(WordTokenizer())
    vector = as_vector(segment_terms(memo.interned(memo.handle(segment)), born))
    return {FEATURES[n]: float(amount) for n, amount in enumerate(vector) if amount}


def test_text_counts_by_tokens_bytes_and_pieces_of_its_role() -> None:
    assert named(Segment("tool_result", "één two")) == {
        "tool_result_tokens": 3,
        "tool_result_bytes": 9,
        "tool_result_pieces": 1,
    }


def test_a_text_document_is_plain_text() -> None:
    assert set(named(Segment("document", "hi"))) == {"user_tokens", "user_bytes", "user_pieces"}


def test_what_has_no_text_counts_by_its_formula() -> None:
    assert named(Segment("image", "", "ab" * 16)) == {"image_tokens": 4}


def test_a_thought_counts_by_the_answer_that_it_came_in() -> None:
    born = Born(output=100, visible=30)
    assert named(Segment("thinking", "a summary"), born) == {"thought_output": 100, "thought_visible": -30}


def test_weighing_terms_is_the_product_with_their_vector() -> None:
    coefficients = np.arange(len(FEATURES), dtype=float)
    terms = (*prompt_terms("tools"), (INDEX["user_bytes"], 2.5))
    assert weigh(terms, coefficients) == as_vector(terms) @ coefficients == 1 + 2.5 * INDEX["user_bytes"]
