from __future__ import annotations

from dataclasses import replace
from typing import Any

from replay.commands import ScheduleRules
from replay.lanes import Lanes
from replay.plan import SessionPlan
from tests.replay.test_schedule import chain

PLANS = [chain(number, 30) for number in range(3)]
ONCE = ScheduleRules(2, "none", 1_000_000, 42)


def test_each_session_is_played_once_unless_sessions_repeat() -> None:
    once, again = Lanes(PLANS, ONCE), Lanes(PLANS, replace(ONCE, repeats=True))
    played = [play.plan.session for _ in range(5) if (play := once.take(0, 0))]
    assert played == [0, 1, 2]
    repeated = [play for _ in range(5) if (play := again.take(0, 0))]
    assert [(play.number, play.plan.session) for play in repeated] == [(0, 0), (1, 1), (2, 2), (3, 0), (4, 1)]


def test_a_play_begun_midway_has_leads_only_where_the_method_spreads_primers() -> None:
    steady = replace(ONCE, warmup="steady")
    play, leads = Lanes(PLANS, steady).take_midway(0, 0)
    assert list(leads.values()) == [0]
    assert min(play.unsent) == next(iter(leads))
    spread, spread_leads = Lanes(PLANS, replace(steady, method="agentx", speedup=2)).take_midway(0, 0)
    (primer, lead), *_ = spread_leads.items()
    point_us = spread.origin_us * 2
    assert lead == round((point_us - spread.unsent[primer].recorded_start_us) / 2)


def test_a_lead_is_no_longer_than_ten_seconds() -> None:
    slow = chain(0, 20, delay_s=1000)
    _, leads = Lanes([slow], ScheduleRules(1, "steady", 1, 42, method="agentx")).take_midway(0, 0)
    assert list(leads.values()) == [10_000_000]


def test_sessions_arrive_in_the_order_of_their_clock() -> None:
    lanes = Lanes(PLANS, replace(ONCE, arrivals_us=(500, 0, 100)))
    plays = []
    while (at_us := lanes.next_arrival_us) is not None:
        play = lanes.arrive(7_000)
        assert play.release_us == 7_000 + at_us
        plays.append((play.number, play.lane, play.plan.session))
    assert plays == [(0, 0, 1), (1, 1, 2), (2, 2, 0)]


def test_plans_are_asked_for_only_when_a_lane_takes_one() -> None:
    class Counting(list[SessionPlan]):
        asked = 0

        def __getitem__(self, index: Any) -> Any:
            self.asked += 1
            return super().__getitem__(index)

    plans = Counting(PLANS)
    lanes = Lanes(plans, ONCE)
    assert plans.asked == 0
    lanes.take(0, 0)
    assert plans.asked == 1
