from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

from hypothesis import given
from hypothesis import strategies as st

from corpus.session import Session
from report.lineage import block_counts, cached_tokens, shared_blocks, steps

Make = Callable[..., Session]
LISTS = st.lists(st.lists(st.integers(1, 3), max_size=6), min_size=1, max_size=8)


def _shared(one: list[int], other: list[int]) -> int:
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))


@given(lists=LISTS)
def test_shared_blocks_equals_comparing_the_whole_prompts(make_session: Make, lists: list[list[int]]) -> None:
    requests = make_session([(0, n, n) for n in range(len(lists))], prompts=lists).requests
    counts = block_counts(requests)
    assert counts == [len(prompt) for prompt in lists]
    for one in range(len(lists)):
        for other in range(len(lists)):
            assert shared_blocks(requests, counts, one, other) == _shared(lists[one], lists[other])


@given(lists=LISTS)
def test_cached_tokens_is_the_best_earlier_prefix(make_session: Make, lists: list[list[int]]) -> None:
    session = make_session([(0, n, n) for n in range(len(lists))], prompts=lists)
    best = [max((_shared(p, q) for q in lists[:n]), default=0) for n, p in enumerate(lists)]
    assert cached_tokens(session) == [64 * blocks for blocks in best]


def test_steps_leave_out_asides_and_keep_agents_apart(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (1, 1, 2), (0, 2, 3), (0, 4, 5), (1, 6, 7)], {2: {"purpose": "title"}})
    assert [(a.request, b.request) for a, b in steps(session)] == [(0, 3), (1, 4)]
    assert [(a.request, b.request) for a, b in steps(session, agent=1)] == [(1, 4)]
