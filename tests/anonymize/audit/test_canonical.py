from __future__ import annotations

from dataclasses import replace

import pytest

from anonymize.audit.canonical import find_odd_block
from corpus.blocks import encode_blocks
from corpus.session import Session
from tests.anonymize.exchanges import claude_answer, claude_body, exchange, session_of, user


def with_lists(lists: list[list[int]]) -> Session:
    made = session_of([exchange(1, claude_body([user("hi")]), claude_answer({"type": "text", "text": "hello"}))])
    blocks = encode_blocks(lists)
    return replace(made, requests=tuple(replace(made.requests[0], request=n, blocks=b) for n, b in enumerate(blocks)))


@pytest.mark.parametrize("lists", [[[1, 2, 3]], [[1, 2], [1, 2, 3, 4], [1, 5]], [[], [1]], [[1, 2, 1, 3]]])
def test_first_appearances_in_order_pass(lists: list[list[int]]) -> None:
    assert find_odd_block(with_lists(lists)) is None


@pytest.mark.parametrize("lists", [[[0, 1]], [[1, 3]], [[1, 2], [1, 4]], [[2]], [[1, 1 << 40]], [[8_123_456_789_012]]])
def test_planted_numbers_that_say_more_than_equality_are_caught(lists: list[list[int]]) -> None:
    assert find_odd_block(with_lists(lists)) is not None
