"""Every way in which a run may stop, and that it says which."""

from __future__ import annotations

from typing import get_args

import pytest

from replay.commands import ScheduleRules, Send, StopReason
from replay.plan import plan_session
from replay.rehearse import Answer
from tests.replay.rehearsal import PLAIN_RULES, Asked, session_of, simulate
from tests.replay.test_schedule import HOUR_US, chain

WAYS: dict[StopReason, ScheduleRules] = {
    "completed": ScheduleRules(1, "none", HOUR_US, 42),
    "duration": ScheduleRules(1, "none", 30_000_000, 42),
    "requests": ScheduleRules(1, "none", HOUR_US, 42, repeats=True, requests=50),
    "failures": ScheduleRules(1, "none", HOUR_US, 42, failure_share=0.5),
}


def ten_seconds(send: Send) -> Answer:
    return Answer(10_000_000, None if send.request.request % 5 == 0 else "http_5xx")


@pytest.mark.parametrize("reason", WAYS)
def test_a_run_says_why_it_stopped(reason: StopReason) -> None:
    run = simulate([chain(0, 40)], WAYS[reason], ten_seconds)
    assert run.done.reason == reason
    assert bool(run.done.detail) == (reason == "failures")
    assert len(run.rows) == {"completed": 40, "duration": 3, "requests": 50, "failures": 13}[reason]


def test_no_reason_is_left_out() -> None:
    assert {*WAYS, "stuck"} == set(get_args(StopReason))  # "stuck" is a fault of ours: see test_schedule


def test_requests_in_flight_at_the_number_asked_for_are_waited_for() -> None:
    rules = ScheduleRules(4, "none", HOUR_US, 42, repeats=True, requests=6)
    plan = plan_session(session_of([Asked(0, 1, (1, 2))]), PLAIN_RULES)
    run = simulate([plan], rules, lambda send: 1_000_000 * (1 + send.play))
    assert [row.error for row in run.rows] == [None] * 6
