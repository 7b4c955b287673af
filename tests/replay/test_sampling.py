from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from replay.sampling import Sampler


def drawn(sampling: str, seed: int, sessions: int, plays: int) -> list[int]:
    chosen: dict[str, Sampler] = {
        "sequential": Sampler("sequential", seed, sessions),
        "shuffled": Sampler("shuffled", seed, sessions),
        "random": Sampler("random", seed, sessions),
    }
    return [chosen[sampling].session(play) for play in range(plays)]


def test_sequential_goes_through_the_source_and_wraps() -> None:
    assert drawn("sequential", 7, 3, 7) == [0, 1, 2, 0, 1, 2, 0]


@given(seed=st.integers(0, 99), sessions=st.integers(1, 20))
def test_shuffled_plays_every_session_once_a_pass(seed: int, sessions: int) -> None:
    plays = drawn("shuffled", seed, sessions, 3 * sessions)
    for start in range(0, 3 * sessions, sessions):
        assert sorted(plays[start : start + sessions]) == list(range(sessions))


def test_shuffled_passes_have_orders_of_their_own_and_seeds_too() -> None:
    plays = drawn("shuffled", 1, 30, 60)
    assert plays[:30] != plays[30:]
    assert plays != drawn("shuffled", 2, 30, 60)


def test_random_may_repeat_before_all_came_and_reaches_all() -> None:
    plays = drawn("random", 1, 20, 400)
    assert len(set(plays[:20])) < 20
    assert set(plays) == set(range(20))


def test_orders_are_the_same_on_every_machine() -> None:
    assert drawn("shuffled", 42, 8, 16) == [5, 6, 0, 7, 2, 1, 3, 4, 5, 2, 6, 1, 4, 0, 3, 7]
    assert drawn("random", 42, 8, 12) == [7, 1, 1, 1, 0, 2, 5, 0, 0, 6, 0, 1]


@given(seed=st.integers(0, 9), plays=st.lists(st.integers(0, 40), min_size=1))
def test_a_play_is_of_the_same_session_in_whatever_order_it_is_asked_for(seed: int, plays: list[int]) -> None:
    one = Sampler("shuffled", seed, 7)
    assert [one.session(play) for play in plays] == [Sampler("shuffled", seed, 7).session(play) for play in plays]
