from __future__ import annotations

from typing import get_args

import numpy as np

from anonymize.segments import Segment
from anonymize.tokens import CONTROL_TOKENS, SegmentTokens
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
    assert memo.tokens(as_user).tolist() == [CONTROL_TOKENS["user"], 0]
    assert memo.tokens(as_assistant).tolist() == [CONTROL_TOKENS["assistant"], 0]
    assert memo.role(as_assistant) == "assistant"


def test_control_tokens_are_distinct_and_above_every_vocabulary() -> None:
    assert len(set(CONTROL_TOKENS.values())) == len(get_args(Role))
    assert min(CONTROL_TOKENS.values()) > 10_000_000


def test_an_empty_text_is_its_control_token_alone() -> None:
    tokenizer = WordTokenizer()
    memo = SegmentTokens(tokenizer)
    assert len(memo.tokens(memo.handle(Segment("tool_result", "")))) == 1
    assert tokenizer.calls == 0


def test_a_placeholder_has_the_size_of_the_rule_and_the_identity_of_the_digest() -> None:
    tokenizer = WordTokenizer()
    memo = SegmentTokens(tokenizer)
    one = memo.tokens(memo.handle(Segment("image", "", "ab" * 16, 256)))
    same = memo.tokens(memo.handle(Segment("image", "", "ab" * 16, 256)))
    other = memo.tokens(memo.handle(Segment("image", "", "ab" * 15 + "ac", 256)))
    assert (len(one), one.dtype.name, tokenizer.calls) == (257, "uint32", 0)
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert int(one[1:].min()) >= 1 << 31


def test_a_lone_surrogate_is_no_obstacle() -> None:
    memo = SegmentTokens(WordTokenizer())
    assert memo.handle(Segment("user", "\ud83d half")) != memo.handle(Segment("user", "\ud83c half"))
