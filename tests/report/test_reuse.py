from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from corpus.session import Session
from report.lanes import Prompts, prompts_of
from report.reuse import ReuseLog, ReuseStack, Stretch

Make = Callable[..., Session]


def use(stack: ReuseStack, visit: int, session: int, prompts: Prompts, request: int, answers: int = 0) -> list[Any]:
    """(depth in blocks, blocks) of what was found."""
    found = stack.find(session, prompts, request)
    stack.use(visit, session, prompts, request, found, answers)
    return [(stretch.depth_tokens // 64, stretch.blocks) for stretch in found.stretches]


def growing(make_session: Make, number: int) -> Prompts:
    lists = [[1, 2], [1, 2, 3], [1, 9], [1, 2, 3, 4]]
    return prompts_of(make_session([(0, n, n) for n in range(4)], prompts=lists, session=number), 10**9)


def test_depth_counts_what_was_used_since_and_a_fork_splits_a_stretch(make_session: Make) -> None:
    stack, mine, other = ReuseStack(6), growing(make_session, 0), growing(make_session, 1)
    assert use(stack, 0, 0, mine, 0) == []
    assert use(stack, 1, 0, mine, 1) == [(0, 2)]
    assert use(stack, 2, 1, other, 0) == []
    assert use(stack, 3, 0, mine, 2) == [(2, 1)]  # two blocks of the other session lie above
    assert use(stack, 4, 0, mine, 3) == [(0, 1), (4, 2)]  # 1 from the fork; above 2 and 3 lie 1, 9 and the other's two


def test_answers_lie_below_their_prompt_and_above_what_was_there(make_session: Make) -> None:
    stack, mine, other = ReuseStack(4), growing(make_session, 0), growing(make_session, 1)
    use(stack, 0, 0, mine, 0)
    use(stack, 1, 1, other, 0, answers=5)
    assert use(stack, 2, 1, other, 1) == [(0, 2)]
    assert use(stack, 3, 0, mine, 1) == [(8, 2)]  # the other's three and its five of the answer


def test_what_a_finished_session_left_is_filled_before_anything_sinks(make_session: Make) -> None:
    stack, mine, other = ReuseStack(5), growing(make_session, 0), growing(make_session, 1)
    use(stack, 0, 0, mine, 0)
    use(stack, 1, 1, other, 1)  # mine lies three deep and stays there: a cache of four has lost a block of it
    stack.forget(1, other)
    assert use(stack, 2, 0, mine, 1) == [(3, 2)]
    third = growing(make_session, 2)
    use(stack, 3, 2, third, 0)  # fills what was left, so my first block sinks by what does not fit
    assert use(stack, 4, 0, mine, 3) == [(2, 3)]


def test_capacity_lifetime_and_log(make_session: Make) -> None:
    log = ReuseLog()
    log.add(0, Stretch(0, 0, 4), 10, 64)
    log.add(0, Stretch(0, 6 * 64, 3), 20, 64)
    log.add(1, Stretch(0, 100 * 64, 2), 5, 64)
    reuse = log.reuse()
    assert reuse.visit.tolist() == [0, 0, 1]
    assert reuse.served(None).tolist() == [4, 3, 2]
    assert reuse.served(8 * 64 + 63).tolist() == [4, 2, 0]
    assert reuse.served(0).tolist() == [0, 0, 0]
    assert reuse.served(None, 10).tolist() == [4, 0, 2]
    assert ReuseLog().reuse().visit.dtype == np.int64
