from __future__ import annotations

from report.routing import Router


def test_round_robin_takes_turns_whoever_asks() -> None:
    router = Router("round-robin", 3)
    assert [router.choose(7, ()) for _ in range(5)] == [0, 1, 2, 0, 1]


def test_a_session_stays_and_a_new_one_goes_where_fewest_live() -> None:
    router = Router("session", 2)
    assert [router.choose(session, ()) for session in (0, 1, 2, 0, 1, 2)] == [0, 1, 0, 0, 1, 0]
    router.over(0)
    router.over(2)
    assert router.choose(3, ()) == 0
    assert router.choose(4, ()) == 0


def test_prefix_prefers_who_holds_most_then_who_worked_least() -> None:
    router = Router("prefix", 3)
    assert router.choose(0, [0, 128, 64]) == 1
    router.sent(0, 100)
    assert router.choose(1, [0, 0, 0]) == 1
    router.sent(1, 200)
    router.sent(2, 150)
    assert router.choose(2, [64, 64, 64]) == 0
