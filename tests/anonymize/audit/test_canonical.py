from __future__ import annotations

from dataclasses import replace

import pytest

from anonymize.audit.canonical import SharedBlocks, find_odd_block
from corpus.blocks import SHARED_FROM, encode_blocks
from corpus.session import Session
from tests.anonymize.exchanges import claude_answer, claude_body, exchange, session_of, user


def with_lists(lists: list[list[int]]) -> Session:
    made = session_of([exchange(1, claude_body([user("hi")]), claude_answer({"type": "text", "text": "hello"}))])
    blocks = encode_blocks(lists)
    return replace(made, requests=tuple(replace(made.requests[0], request=n, blocks=b) for n, b in enumerate(blocks)))


@pytest.mark.parametrize("lists", [[[1, 2, 3]], [[1, 2], [1, 2, 3, 4], [1, 5]], [[], [1]], [[1, 2, 1, 3]]])
def test_first_appearances_in_order_pass(lists: list[list[int]]) -> None:
    assert find_odd_block(with_lists(lists)) is None


@pytest.mark.parametrize(
    "lists", [[[0, 1]], [[1, 3]], [[1, 2], [1, 4]], [[2]], [[1, 1 << 40]], [[1 << 40, 1], [1, 1 << 40]]]
)
def test_planted_numbers_that_say_more_than_equality_are_caught(lists: list[list[int]]) -> None:
    assert find_odd_block(with_lists(lists)) is not None


@pytest.mark.parametrize(
    "lists", [[[SHARED_FROM, 1]], [[SHARED_FROM + 1, SHARED_FROM, 1, 2], [SHARED_FROM + 1, 3]], [[1], [SHARED_FROM]]]
)
def test_shared_blocks_in_front_pass(lists: list[list[int]]) -> None:
    assert find_odd_block(with_lists(lists)) is None


def shared_flaws(sessions: list[list[list[int]]], *, public: bool = True) -> list[str]:
    seen = SharedBlocks()
    for lists in sessions:
        seen.add(with_lists(lists))
    return list(seen.flaws(public=public))


def test_shared_blocks_must_be_in_a_row_and_in_enough_sessions_of_a_published_corpus() -> None:
    begun = [[SHARED_FROM + 1, SHARED_FROM, 1]]
    assert shared_flaws([begun] * 5) == []
    assert shared_flaws([[[1, 2]]]) == []
    assert len(shared_flaws([begun] * 5, public=False)) == 1
    assert len(shared_flaws([begun] * 4)) == 1, "too few have it"
    assert len(shared_flaws([[[8_123_456_789_012, 1]]] * 5)) == 1, "a digest in disguise"
