from __future__ import annotations

from collections.abc import Callable

import numpy as np

from corpus.session import Session
from report.lanes import prompts_of, visits_of

Make = Callable[..., Session]
S = 1_000_000


def test_idle_longer_than_the_cap_is_cut_and_work_is_not(make_session: Make) -> None:
    session = make_session([(0, 5, 8), (1, 6, 20), (0, 60, 61), (0, 62, None)])
    prompts = prompts_of(session, 10 * S)
    assert prompts.offset_us.tolist() == [0, 1 * S, 25 * S, 27 * S]
    assert prompts.length_us == 27 * S


def test_blocks_that_are_not_whole_do_not_count_and_the_last_token_is_computed(make_session: Make) -> None:
    sizes = {0: {"input_tokens": 130}, 1: {"input_tokens": 128}, 2: {"input_tokens": 500, "output_tokens": 77}}
    prompts = prompts_of(make_session([(0, 0, 1)] * 3, sizes, prompts=[[1, 2, 3]] * 3), S)
    assert prompts.blocks.tolist() == [2, 2, 3]
    assert prompts.usable.tolist() == [2, 1, 3]
    assert prompts.answer_blocks.tolist() == [0, 0, 2]  # of 576 tokens that are stored nine blocks are whole


def test_sessions_follow_each_other_on_a_lane(make_session: Make) -> None:
    sessions = [prompts_of(make_session([(0, 0, 1), (0, 4, 10)], session=n), 100 * S) for n in range(3)]
    one = visits_of(sessions, 1)
    assert one.session.tolist() == [0, 0, 1, 1, 2, 2]
    assert one.at_us.tolist() == [0, 4 * S, 10 * S, 14 * S, 20 * S, 24 * S]
    assert one.is_last.tolist() == [False, True] * 3


def test_lanes_run_side_by_side_and_the_free_one_takes_the_next(make_session: Make) -> None:
    lengths = (10, 3, 4)
    sessions = [prompts_of(make_session([(0, 0, 1), (0, n - 1, n)], session=n), 100 * S) for n in lengths]
    two = visits_of(sessions, 2)
    assert list(zip(two.session.tolist(), two.request.tolist(), (two.at_us // S).tolist(), strict=True)) == [
        (0, 0, 0),
        (1, 0, 0),
        (1, 1, 2),
        (2, 0, 3),
        (2, 1, 6),
        (0, 1, 9),
    ]


def test_nothing_at_all_is_no_visit() -> None:
    assert len(visits_of([], 3).session) == 0
    assert visits_of([], 3).is_last.dtype == np.bool_
