from __future__ import annotations

import pytest

from replay.plan import plan_session
from replay.play import Play
from tests.replay.rehearsal import PLAIN_RULES, Asked, edge, session_of

DIAMOND = plan_session(
    session_of(
        [Asked(0, 1, (1,)), Asked(2, 4, (1, 2)), Asked(3, 9, (1, 3)), Asked(10, 11, (1, 2, 3))],
        [edge(0, 1, 1), edge(0, 2, 2), edge(1, 3, 6), edge(2, 3, 1)],
    ),
    PLAIN_RULES,
)


def a_play(skipped: frozenset[int] = frozenset()) -> Play:
    return Play(0, 0, DIAMOND, 100, skipped)


def test_request_is_free_only_when_every_predecessor_ended() -> None:
    play = a_play()
    assert play.free() == [0]
    play.take(0)
    assert play.start(0, 150) == []
    assert play.end(0, 1_000) == [1, 2]
    play.take(1)
    assert play.end(1, 5_000_000) == []
    play.take(2)
    assert play.end(2, 9_000_000) == [3]


def test_due_is_the_latest_of_all_measured_ends_plus_delays() -> None:
    play = a_play()
    for request, ended in ((0, 1_000), (1, 5_000_000), (2, 9_000_000)):
        play.take(request)
        play.end(request, ended)
    assert play.due_us(3) == 11_000_000
    play.release(0, delays=False)
    assert play.due_us(3) == 9_000_000


def test_skipped_request_is_waited_for_by_nobody() -> None:
    play = a_play(frozenset({0, 1}))
    assert play.free() == [2]
    assert [wait.src for wait in play.waits(3)] == [2]


def test_release_keeps_the_distance_of_roots_from_the_earliest_left() -> None:
    plan = plan_session(session_of([Asked(0, 1, (1,)), Asked(20, 21, (2,)), Asked(25, 26, (3,))]), PLAIN_RULES)
    play = Play(0, 0, plan, 0, frozenset({0}))
    play.release(7_000_000)
    assert (play.due_us(1), play.due_us(2)) == (7_000_000, 12_000_000)
    play.release(7_000_000, delays=False)
    assert play.due_us(2) == 7_000_000


def test_request_that_failed_before_it_was_sent_counts_as_started_and_ended() -> None:
    plan = plan_session(
        session_of([Asked(0, 5, (1,)), Asked(2, 4, (2,))], [edge(0, 1, 2, anchor="start")]), PLAIN_RULES
    )
    play = Play(0, 0, plan, 0, frozenset())
    play.take(0)
    assert play.end(0, 50) == [1]
    assert play.due_us(1) == 2_000_050


def test_next_up_are_successors_of_what_is_in_flight_whose_other_predecessors_were_sent() -> None:
    play = a_play()
    assert play.next_up() == []
    play.take(0)
    play.start(0, 1)
    assert play.next_up() == [1, 2]
    play.end(0, 2)
    play.take(1)
    play.start(1, 3)
    assert play.next_up() == []
    play.take(2)
    play.start(2, 3)
    assert play.next_up() == [3]


def test_play_is_complete_when_all_ended() -> None:
    play = a_play()
    for request in range(4):
        assert not play.complete
        play.take(request)
        play.end(request, request)
    assert play.complete


def test_due_of_a_request_that_is_not_free_is_no_answer() -> None:
    with pytest.raises(KeyError):
        a_play().due_us(3)
