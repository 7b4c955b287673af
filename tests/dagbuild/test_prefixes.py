from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile

from hypothesis import given
from hypothesis import strategies as st

from corpus.blocks import encode_blocks
from corpus.session import Session
from dagbuild.prefixes import Prefixes

Make = Callable[..., Session]
LISTS = st.lists(st.lists(st.integers(0, 2), max_size=6), min_size=1, max_size=12)


def _common(one: list[int], other: list[int]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


@given(lists=LISTS)
def test_every_pair_shares_its_common_prefix(make_session: Make, lists: list[list[int]]) -> None:
    plain = make_session([(0, n, n + 1) for n in range(len(lists))]).requests
    deltas = encode_blocks(lists)
    prefixes = Prefixes([replace(request, blocks=delta) for request, delta in zip(plain, deltas, strict=True)])
    assert prefixes.counts == [len(one) for one in lists]
    for a, one in enumerate(lists):
        shared = [_common(one, other) for other in lists]
        assert prefixes.row(a) == shared
        assert [prefixes.shared(a, b) for b in range(len(lists))] == shared


def test_lists_longer_than_sixteen_bits_are_counted_whole(make_session: Make) -> None:
    plain = make_session([(0, 0, 1), (0, 2, 3)]).requests
    deltas = encode_blocks([range(70_000), range(80_000)])
    prefixes = Prefixes([replace(request, blocks=delta) for request, delta in zip(plain, deltas, strict=True)])
    assert prefixes.shared(0, 1) == prefixes.counts[0] == 70_000
