"""Schedulers of several workers that share the lanes, against the one scheduler that would have them all."""

from __future__ import annotations

import heapq
from dataclasses import replace
from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from replay.commands import Ended, Event, Proceed, ScheduleRules, Send, StageOver, Started, Tick, WaitUntil
from replay.plan import SessionPlan, plan_session
from replay.schedule import Scheduler
from tests.replay.rehearsal import PLAIN_RULES, Asked, edge, session_of

RULES = ScheduleRules(5, "steady", 40_000_000, 42)


def chain(number: int, length: int) -> SessionPlan:
    asked = [Asked(i * 2, i * 2 + 1, tuple(range(i + 1))) for i in range(length)]
    return plan_session(session_of(asked, [edge(i, i + 1, 1) for i in range(length - 1)], number), PLAIN_RULES)


def took_us(send: Send) -> int:
    return 1_000 + (send.play * 7919 + send.request.request * 104_729) % 900_000


def heard(send: Send, now: int) -> list[Event]:
    key = (send.play, send.request.request)
    return [Started(*key, now), Ended(*key, now + took_us(send))]


def play(plans: list[SessionPlan], rules: ScheduleRules, workers: int) -> tuple[list[Send], list[Scheduler]]:
    """All workers in one virtual time; a stage is over when the last one says so."""
    team = [Scheduler(plans, replace(rules, worker=worker, workers=workers)) for worker in range(workers)]
    order = count()
    events: list[Any] = [(0, next(order), worker, Tick(0)) for worker in range(workers)]
    through: set[int] = set()
    sends: list[Send] = []
    while not all(one.stage == "done" for one in team):
        now, _, worker, event = heapq.heappop(events)
        commands = [] if team[worker].stage == "done" else team[worker].handle(event)
        for command in commands:
            match command:
                case Send():
                    assert worker not in through, "sent between the stages"
                    sends.append(command)
                    found = heard(command, now)
                    events += [(one.at_us, next(order), worker, one) for one in found]
                    heapq.heapify(events)
                case WaitUntil(at_us):
                    at_us = 10**13 if at_us is None else max(at_us, now)
                    heapq.heappush(events, (at_us, next(order), worker, Tick(at_us)))
                case StageOver():
                    through.add(worker)
        if len(through) == workers:
            through.clear()
            for other in range(workers):
                heapq.heappush(events, (now, next(order), other, Proceed(now)))
    return sends, team


def opening(sends: list[Send]) -> set[tuple[int, int, int, int]]:
    return {(s.lane, s.play, s.plan.session, s.request.request) for s in sends if s.phase == "warmup"}


@given(lengths=st.lists(st.integers(1, 30), min_size=1, max_size=7), workers=st.integers(2, 5))
def test_warm_up_is_the_same_whoever_shares_it_and_profiling_begins_for_all_at_once(
    lengths: list[int], workers: int
) -> None:
    plans = [chain(number, length) for number, length in enumerate(lengths)]
    alone, (single,) = play(plans, RULES, 1)
    shared, team = play(plans, RULES, workers)
    first = {lane: entry for lane, *entry in sorted(opening(alone), reverse=True)}
    assert {lane: entry for lane, *entry in sorted(opening(shared), reverse=True)} == first
    assert len({scheduler.profile_start_us for scheduler in team}) == 1
    assert single.profile_start_us is not None
    assert {send.lane % workers for send in shared} == {send.play % workers for send in shared}


@given(sessions=st.integers(1, 12), workers=st.integers(2, 5), lanes=st.integers(1, 4))
def test_without_warm_up_every_session_is_played_once_by_one_of_them(sessions: int, workers: int, lanes: int) -> None:
    plans = [chain(number, 1 + number % 3) for number in range(sessions)]
    shared, _ = play(plans, replace(RULES, warmup="none", lanes=workers * lanes, duration_us=10**12), workers)
    asked = sorted((send.plan.session, send.request.request) for send in shared)
    assert asked == sorted((plan.session, request.request) for plan in plans for request in plan.requests)
    assert {(send.play, send.plan.session) for send in shared} == {(number, number) for number in range(sessions)}


def test_arriving_sessions_and_a_number_of_requests_are_shared_out() -> None:
    plans = [chain(number, 2) for number in range(9)]
    arriving = replace(RULES, warmup="none", arrivals_us=tuple(range(0, 9_000_000, 1_000_000)), duration_us=10**12)
    alone, _ = play(plans, arriving, 1)
    shared, _ = play(plans, arriving, 3)
    assert opened(shared) == opened(alone)
    few, _ = play(plans, replace(RULES, warmup="none", repeats=True, requests=11, duration_us=10**12), 3)
    assert len(few) == 11


def opened(sends: list[Send]) -> list[tuple[int, int, int]]:
    return sorted((send.play, send.plan.session, send.request.request) for send in sends)
