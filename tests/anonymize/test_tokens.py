from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from anonymize.segments import Segment
from anonymize.tokens import CONTROL_TOKENS, Interned, SegmentTokens, resized
from corpus.session import Role
from tests.anonymize.exchanges import WordTokenizer


def test_a_text_is_tokenized_once_however_often_it_is_seen() -> None:
    tokenizer = WordTokenizer()
    memo = SegmentTokens(tokenizer)
    handles = {memo.handle(Segment("user", "one two")) for _ in range(5)}
    assert (len(handles), tokenizer.calls, memo.tokenized) == (1, 1, 3)


def test_a_segment_opens_with_the_control_token_of_its_role() -> None:
    memo = SegmentTokens(WordTokenizer())
    as_user, as_assistant = memo.handle(Segment("user", "hi")), memo.handle(Segment("assistant", "hi"))
    assert as_user != as_assistant
    assert memo.interned(as_user).tokens.tolist() == [CONTROL_TOKENS["user"], 0]
    assert memo.interned(as_assistant).tokens.tolist() == [CONTROL_TOKENS["assistant"], 0]
    assert memo.interned(as_assistant).role == "assistant"


def test_control_tokens_are_distinct_and_above_every_vocabulary() -> None:
    assert len(set(CONTROL_TOKENS.values())) == len(get_args(Role))
    assert min(CONTROL_TOKENS.values()) > 10_000_000


def test_an_empty_text_is_its_control_token_alone() -> None:
    tokenizer = WordTokenizer()
    memo = SegmentTokens(tokenizer)
    assert len(memo.interned(memo.handle(Segment("tool_result", ""))).tokens) == 1
    assert tokenizer.calls == 0


def test_a_placeholder_has_the_size_of_the_rule_and_the_identity_of_the_digest() -> None:
    tokenizer = WordTokenizer()
    memo = SegmentTokens(tokenizer)
    one = memo.interned(memo.handle(Segment("opaque", "", "ab" * 16, 2_232))).tokens
    same = memo.interned(memo.handle(Segment("opaque", "", "ab" * 16, 2_232))).tokens
    other = memo.interned(memo.handle(Segment("opaque", "", "ab" * 15 + "ac", 2_232))).tokens
    assert (len(one), one.dtype.name, tokenizer.calls) == (257, "uint32", 0)
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert int(one[1:].min()) >= 1 << 31


def test_a_lone_surrogate_is_no_obstacle() -> None:
    memo = SegmentTokens(WordTokenizer())
    assert memo.handle(Segment("user", "\ud83d half")) != memo.handle(Segment("user", "\ud83c half"))


words = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=60).map("".join)


class Letters(WordTokenizer):
    """One token a letter."""

    def _encode_text(self, text: str) -> NDArray[np.uint32]:
        return np.frombuffer(text.encode(), dtype=np.uint8).astype(np.uint32)


def letters(text: str) -> Interned:
    memo = SegmentTokens(Letters())
    return memo.interned(memo.handle(Segment("user", text)))


@given(words, st.integers(2, 200), st.floats(0.3, 3))
def test_a_content_takes_exactly_the_length_it_is_given(text: str, length: int, ratio: float) -> None:
    found = resized(letters(text), length, ratio)
    assert (len(found), found[0]) == (length, CONTROL_TOKENS["user"])


@given(words, words, st.integers(2, 120), st.floats(0.3, 3))
def test_different_texts_stay_different_at_any_length(one: str, other: str, length: int, ratio: float) -> None:
    equal = np.array_equal(resized(letters(one), length, ratio), resized(letters(other), length, ratio))
    assert equal == (one == other) or len(one) != len(other)  # of unequal length they get unequal shares


@given(words, words, st.floats(1, 3))
def test_texts_that_begin_alike_still_begin_alike(start: str, more: str, ratio: float) -> None:
    short, long = letters(start), letters(start + more)
    wanted = [round(len(one.tokens[1:]) * ratio) + 1 for one in (short, long)]
    small, large = resized(short, wanted[0], ratio), resized(long, wanted[1], ratio)
    shared = next((n for n, (a, b) in enumerate(zip(small, large, strict=False)) if a != b), len(small))
    assert shared >= len(small) - 1


def test_what_no_ratio_explains_is_padded_at_the_end() -> None:
    assert np.array_equal(resized(letters("abc"), 9, 1.0)[:4], letters("abc").tokens)


def test_resizing_does_not_look_at_the_ids_themselves() -> None:
    plain, order = letters("abcabcab"), np.random.default_rng(1).permutation(256).astype(np.uint32)
    body = plain.tokens[1:]
    moved = replace(plain, tokens=np.concatenate([plain.tokens[:1], order[body]]))
    for length in (5, 9, 14):
        same = resized(plain, length, 0.7)[None, :] == resized(plain, length, 0.7)[:, None]
        assert np.array_equal(same, resized(moved, length, 0.7)[None, :] == resized(moved, length, 0.7)[:, None])


def test_a_placeholder_never_loses_its_identity() -> None:
    memo = SegmentTokens(WordTokenizer())
    one, other = (memo.interned(memo.handle(Segment("image", "", "ab" * 15 + end))) for end in ("ab", "ac"))
    assert not np.array_equal(resized(one, 1, 1.0), resized(other, 1, 1.0))
    assert len(resized(one, 300, 1.0)) == 300
