from __future__ import annotations

from replay.commands import ScheduleRules
from replay.plan import plan_session
from replay.rehearse import Finished, Rehearsed, as_recorded, rehearse
from replay.schedule import Scheduler
from tests.replay.rehearsal import PLAIN_RULES, Asked, session_of
from tests.replay.test_schedule import chain


def test_recorded_durations_play_the_recorded_session() -> None:
    plan = chain(0, 5, delay_s=3, took_s=2)
    *requests, finished = rehearse(Scheduler([plan], ScheduleRules(1, "none", 10**9, 1)), as_recorded)
    assert isinstance(finished, Finished)
    assert (finished.at_us, finished.done.reason) == (22_000_000, "completed")
    ended = [one.ended_us for one in requests if isinstance(one, Rehearsed)]
    assert ended == [request.recorded_end_us for request in plan.requests]


def test_answer_of_unknown_length_takes_time_by_its_tokens() -> None:
    plan = plan_session(session_of([Asked(0, None, (1,), output_tokens=10)]), PLAIN_RULES)
    one, _ = rehearse(Scheduler([plan], ScheduleRules(1, "none", 10**9, 1)), as_recorded)
    assert isinstance(one, Rehearsed)
    assert one.ended_us == 400_000


def test_what_is_in_flight_at_the_end_has_no_end() -> None:
    plan = plan_session(session_of([Asked(0, 60, (1,))]), PLAIN_RULES)
    one, finished = rehearse(Scheduler([plan], ScheduleRules(1, "none", 5_000_000, 1)), as_recorded)
    assert isinstance(one, Rehearsed)
    assert isinstance(finished, Finished)
    assert (one.started_us, one.ended_us, finished.at_us) == (0, None, 5_000_000)
