from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpus.blocks import encode_blocks
from corpus.session import Blocks
from report.prompt_tree import PromptTree

prompts = st.lists(st.lists(st.integers(0, 2), max_size=7), min_size=1, max_size=40)


def common(one: list[int], other: list[int]) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


@given(prompts)
def test_any_two_prompts_share_what_comparing_them_says(lists: list[list[int]]) -> None:
    tree = PromptTree(encode_blocks(lists))
    for request, mine in enumerate(lists):
        others = [n for n in range(len(lists)) if n != request]
        if not others:
            continue
        place = int(tree.place[request])
        expected = [common(mine, lists[n]) for n in others]
        assert tree.shared(place, tree.place[np.array(others)]).tolist() == expected
        assert [tree.shared_with(place, int(tree.place[n])) for n in others] == expected


def test_a_base_that_only_hands_on_what_it_kept_itself_is_seen_through() -> None:
    tree = PromptTree([Blocks(-1, 0, (1,), (9,)), Blocks(0, 6, (20,), (3,)), Blocks(1, 4, (30,), (5,))])
    first, second, third = tree.place.tolist()
    assert tree.shared_with(third, second) == 4
    assert tree.shared_with(third, first) == 4
    assert tree.shared_with(second, first) == 6


def test_every_request_has_a_place_of_its_own_even_in_a_chain_of_thousands() -> None:
    chain = [Blocks(n - 1, n, (n,), (1,)) for n in range(5000)]
    tree = PromptTree([Blocks(-1, 0, (0,), (1,)), *chain[1:]])
    assert sorted(tree.place.tolist()) == list(range(5000))
    assert tree.shared_with(int(tree.place[4999]), int(tree.place[17])) == 18
