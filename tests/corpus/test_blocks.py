from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.blocks import count_blocks, encode_blocks, encode_segments, expand_blocks, expand_segments
from corpus.session import Blocks, Request, Role, Segments, Session
from tests.plain import plain_request

Lists = list[list[int]]

unchained = st.lists(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3), max_size=12), max_size=12)
NAMES: list[Role] = ["system", "user", "tool_result"]
roles = st.sampled_from(NAMES)
segment_lists = st.lists(st.tuples(roles, st.integers(0, 3)), max_size=6)


@st.composite
def chained(draw: st.DrawFn) -> Lists:
    """Lists as real prompts give them: a prefix of an earlier list, then ids never seen."""
    lists: Lists = []
    fresh = 1
    for _ in range(draw(st.integers(1, 12))):
        parent = draw(st.sampled_from(lists)) if lists else []
        keep = draw(st.integers(0, len(parent)))
        new = draw(st.integers(0, 8))
        lists.append(parent[:keep] + list(range(fresh, fresh + new)))
        fresh += new
    return lists


def shared(left: list[int], right: list[int]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))


def expanded(lists: Lists) -> Lists:
    return [ids.tolist() for ids in expand_blocks(encode_blocks(lists))]


@given(unchained)
def test_any_lists_come_back_equal(lists: Lists) -> None:
    assert expanded(lists) == lists


@given(chained() | unchained)
def test_base_is_an_earlier_request_and_keep_the_longest_prefix_there_is(lists: Lists) -> None:
    for number, blocks in enumerate(encode_blocks(lists)):
        assert -1 <= blocks.base < number or blocks.base == -1
        assert blocks.keep == max((shared(lists[i], lists[number]) for i in range(number)), default=0)
        assert count_blocks(blocks) == len(lists[number])


@given(chained())
def test_base_is_the_first_request_that_has_the_last_shared_block(lists: Lists) -> None:
    for number, blocks in enumerate(encode_blocks(lists)):
        if blocks.keep:
            last = lists[number][blocks.keep - 1]
            assert blocks.base == next(i for i in range(number) if last in lists[i])


@given(chained())
def test_first_seen_numbering_needs_one_run_a_request(lists: Lists) -> None:
    assert all(len(blocks.run_start) <= 1 for blocks in encode_blocks(lists))


@given(chained(), st.data())
def test_segments_come_back_equal(lists: Lists, data: st.DataObject) -> None:
    blocks = encode_blocks(lists)
    segments: list[list[tuple[Role, int]]] = data.draw(
        st.lists(segment_lists, min_size=len(lists), max_size=len(lists))
    )
    requests = [
        request_with(delta, kept) for delta, kept in zip(blocks, encode_segments(segments, blocks), strict=True)
    ]
    assert [list(found) for found in expand_segments(requests)] == segments


def test_sibling_rewind_and_compaction_find_their_own_base() -> None:
    lists = [[1, 2, 3], [1, 2, 3, 4, 5], [9, 10], [1, 2, 3, 4, 6], [9, 10, 11], [1, 2, 7]]
    assert encode_blocks(lists) == [
        Blocks(-1, 0, (1,), (3,)),
        Blocks(0, 3, (4,), (2,)),
        Blocks(-1, 0, (9,), (2,)),
        Blocks(1, 4, (6,), (1,)),
        Blocks(2, 2, (11,), (1,)),
        Blocks(0, 2, (7,), (1,)),
    ]


def test_numpy_lists_of_any_integer_width_are_taken() -> None:
    assert expanded([np.array([5, 6], dtype=np.uint32).tolist()]) == [[5, 6]]
    assert encode_blocks([np.array([5, 6], dtype=np.uint32)]) == [Blocks(-1, 0, (5,), (2,))]


@pytest.mark.parametrize(
    "blocks", [Blocks(1, 1, (), ()), Blocks(0, 3, (), ()), Blocks(-1, 1, (), ()), Blocks(-2, 0, (), ())]
)
def test_delta_to_what_is_not_there_is_refused(blocks: Blocks) -> None:
    with pytest.raises(ValueError, match="request 1"):
        expand_blocks([Blocks(-1, 0, (1,), (2,)), blocks])


def test_requests_without_boundaries_expand_to_no_segments(captured: Session) -> None:
    bare = [replace(request, segments=None) for request in captured.requests]
    assert expand_segments(bare) == [()] * len(bare)


def test_segments_kept_from_a_request_without_them_are_refused(captured: Session) -> None:
    first, *rest = captured.requests
    with pytest.raises(ValueError, match="keeps"):
        expand_segments([replace(first, segments=None), *rest])


def request_with(blocks: Blocks, segments: Segments) -> Request:
    return plain_request(0, blocks=blocks, segments=segments)
