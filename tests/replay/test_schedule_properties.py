"""The method in virtual time over random sessions, servers and failures: what must hold whatever happens."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.run import SentRequest
from corpus.session import Edge, Session
from replay.commands import ScheduleRules, Send
from replay.fidelity import judge
from replay.method import MethodName
from replay.plan import Graph, PlanRules, SessionPlan, Wait, plan_session
from replay.rehearse import Answer
from tests.replay.rehearsal import Asked, Simulation, edge, session_of, simulate

HOUR_US = 3_600_000_000
CAP_US = 5_000_000
SYSTEM_CAP_US = 10_000_000
METHODS: tuple[MethodName, ...] = ("published", "agentx")


@st.composite
def plans_of(draw: st.DrawFn, method: MethodName = "published", *, open_loop: bool = False) -> list[SessionPlan]:
    cap = None if method == "agentx" else CAP_US
    rules = PlanRules(cap, draw(st.sampled_from([1, 3])), None, open_loop)
    return [plan_session(draw(sessions(number)), rules) for number in range(draw(st.integers(1, 3)))]


@st.composite
def sessions(draw: st.DrawFn, number: int) -> Session:
    """Up to three streams with a spine of their own, tied together by further edges at random."""
    asked: list[Asked] = []
    edges: list[Edge] = []
    last: dict[int, int] = {}
    start = 0.0
    for request in range(draw(st.integers(1, 10))):
        start += draw(st.sampled_from([0, 1, 3, 30]))
        agent = draw(st.integers(0, 2))
        asked.append(Asked(start, start + draw(st.integers(0, 8)), (1,), agent=agent))
        before = draw(st.sets(st.integers(0, request), max_size=2)) | ({last[agent]} if agent in last else set())
        edges += [
            recorded(asked, src, request, "sequence" if src == last.get(agent) else "join")
            for src in before
            if src < request
        ]
        last[agent] = request
    return session_of(asked, edges, number)


def recorded(asked: Sequence[Asked], src: int, dst: int, kind: str) -> Edge:
    gap = asked[dst].start_s - (asked[src].end_s or 0)
    if gap >= 0:
        return edge(src, dst, gap, kind=kind)
    return edge(src, dst, asked[dst].start_s - asked[src].start_s, anchor="start", kind=kind)


def server(seed: int, failing: int = 0) -> Callable[[Send], Answer]:
    """Durations and failures (one of `failing` requests) that follow from seed and request alone."""

    def answer(send: Send) -> Answer:
        drawn = seed * 999_983 + send.play * 7919 + send.request.request * 104_729
        failed = failing and drawn % failing == 0
        error = ("http_5xx", "context_overflow", "timeout")[drawn % 3] if failed else None
        return Answer(1_000 + drawn % 9_000_000, error)  # type: ignore[arg-type]

    return answer


def rules(lanes: int, method: MethodName, warmup: str, seed: int) -> ScheduleRules:
    kept = ScheduleRules(lanes, "none", 40_000_000, seed, method=method, idle_cap_us=CAP_US)
    return replace(kept, warmup=warmup, repeats=warmup == "steady")  # type: ignore[arg-type]


def plays(run: Simulation) -> dict[int, list[SentRequest]]:
    found: dict[int, list[SentRequest]] = defaultdict(list)
    for row in run.rows:
        found[row.play].append(row)
    return found


def assert_sound(run: Simulation) -> None:
    """Edges hold, nothing is early, and with timers that are exact nothing is late either."""
    fidelity = judge(run.rows)
    assert (fidelity.edge_violations, fidelity.early_roots) == (0, 0)
    assert set(fidelity.lateness_us) <= {0}
    lanes: dict[int, list[list[SentRequest]]] = defaultdict(list)
    for rows in plays(run).values():
        lanes[rows[0].lane].append(rows)
    for played in lanes.values():  # one live session at a time
        for before, after in pairwise(played):
            assert all(row.end_us is not None for row in before)
            assert max(row.end_us or 0 for row in before) <= min(row.sent_us or 0 for row in after)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=40)
@given(data=st.data(), lanes=st.integers(1, 4), seed=st.integers(0, 99), failing=st.sampled_from([0, 2, 5]))
def test_everything_is_sent_once_in_order_and_on_time_whatever_fails(
    method: MethodName, data: st.DataObject, lanes: int, seed: int, failing: int
) -> None:
    plans = data.draw(plans_of(method))
    asked = replace(rules(lanes, method, "none", seed), duration_us=100 * HOUR_US)
    run = simulate(plans, asked, server(seed, failing))
    assert run.done.reason == "completed"
    assert run.scheduler.completed_plays == set(range(len(plans)))
    planned = Counter((plan.session, request.request) for plan in plans for request in plan.requests)
    sent = Counter((row.session, row.request) for row in run.rows)
    assert sum((planned - sent).values()) == run.scheduler.given_up
    assert not sent - planned
    if method == "published" or not failing:
        assert run.scheduler.given_up == 0
    assert_sound(run)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=40)
@given(data=st.data(), lanes=st.integers(1, 4), seed=st.integers(0, 99), failing=st.sampled_from([0, 3]))
def test_steady_runs_are_sound_and_repeat_exactly(
    method: MethodName, data: st.DataObject, lanes: int, seed: int, failing: int
) -> None:
    plans = data.draw(plans_of(method))
    asked = rules(lanes, method, "steady", seed)
    run = simulate(plans, asked, server(seed, failing))
    assert_sound(run)
    assert run.done.reason == "duration"
    assert run.rows == simulate(plans, asked, server(seed, failing)).rows
    warm = [row for row in run.rows if row.phase == "warmup"]
    assert {row.planned_output_tokens for row in warm} <= {1}
    assert all(set(row.after_delay_us) <= {0} for row in warm)
    advanced = Counter(row.lane for row in warm)
    primed = Counter(row.lane for row in warm if row.release_us == 0 and row.play < lanes)
    assert all(advanced[lane] >= 10 and advanced[lane] - primed[lane] <= 10 for lane in range(lanes))


@settings(max_examples=40)
@given(plans=plans_of("agentx"), lanes=st.integers(1, 3), seed=st.integers(0, 99))
def test_no_tree_is_idle_for_longer_than_its_cap_while_it_has_something_to_send(
    plans: list[SessionPlan], lanes: int, seed: int
) -> None:
    run = simulate(plans, rules(lanes, "agentx", "steady", seed), server(seed))
    start = run.scheduler.profile_start_us
    assert start is not None
    for rows in plays(run).values():
        profiled = sorted((row.sent_us or 0, row.end_us or run.done_at_us) for row in rows if row.phase == "profile")
        busy_until = max(start, *(row.end_us or 0 for row in rows if row.phase == "warmup"), rows[0].release_us)
        for sent, ended in profiled:
            assert sent - busy_until <= CAP_US
            busy_until = max(busy_until, ended)


@settings(max_examples=40)
@given(plans=plans_of("agentx"), lanes=st.integers(1, 3), seed=st.integers(0, 99))
def test_the_system_is_never_idle_for_longer_than_its_cap(plans: list[SessionPlan], lanes: int, seed: int) -> None:
    uncapped = replace(rules(lanes, "agentx", "steady", seed), idle_cap_us=HOUR_US)
    run = simulate(plans, uncapped, server(seed))
    start = run.scheduler.profile_start_us
    assert start is not None
    busy_until = start
    for row in sorted((row for row in run.rows if row.phase == "profile"), key=lambda row: row.sent_us or 0):
        assert (row.sent_us or 0) - busy_until <= SYSTEM_CAP_US
        busy_until = max(busy_until, row.end_us or run.done_at_us)


@settings(max_examples=40)
@given(plans=plans_of(open_loop=True), fast=st.integers(0, 9), slow=st.integers(10, 19), clocked=st.booleans())
def test_open_loop_does_not_care_how_fast_the_server_is(
    plans: list[SessionPlan], fast: int, slow: int, clocked: bool
) -> None:
    arrivals = tuple(7_000_000 * number for number in range(len(plans))) if clocked else None
    asked = ScheduleRules(len(plans), "none", HOUR_US, 1, arrivals_us=arrivals)
    one, other = (
        {(row.session, row.request): row.sent_us for row in simulate(plans, asked, server(seed)).rows}
        for seed in (fast, slow)
    )
    assert one == other
    for plan in plans:
        began = 7_000_000 * plan.session if clocked else 0
        assert {n: one[plan.session, n] for n in (r.request for r in plan.requests)} == {
            r.request: began + r.offset_us for r in plan.requests
        }


@settings(max_examples=40)
@given(plans=plans_of(), seed=st.integers(0, 99), grace_us=st.integers(0, 9_000_000))
def test_answers_get_their_grace_and_are_cut_after_it(plans: list[SessionPlan], seed: int, grace_us: int) -> None:
    asked = replace(rules(3, "published", "steady", seed), grace_us=grace_us)
    run = simulate(plans, asked, server(seed))
    start = run.scheduler.profile_start_us
    assert start is not None
    end = start + asked.duration_us
    assert end <= run.done_at_us <= end + grace_us
    for row in run.rows:
        assert (row.sent_us or 0) < end
        assert (row.error == "cut") == (row.end_us is None)
    if any(row.error == "cut" for row in run.rows):
        assert run.done_at_us == end + grace_us


def stalling(delay_s: float) -> SessionPlan:
    """aiperf #1205: a turn whose own delay is over is held back by another stream that itself waits for a timer."""
    asked = [
        Asked(0, 1, (1,)),
        Asked(0, 1, (2,), agent=1),
        Asked(2000, 2001, (2, 3), agent=1),
        Asked(2002, 2003, (1, 2)),
    ]
    waits = {
        2: (Wait(1, round(delay_s * 1e6), "end"),),
        3: (Wait(0, 60_000_000, "end"), Wait(2, 0, "end")),
    }
    graph = Graph(((0, 3), (1, 2)), waits)
    return plan_session(session_of(asked), PlanRules(None, 1, None), lambda _session: graph)


def test_a_turn_held_back_by_a_barrier_does_not_keep_the_cap_from_moving_the_rest() -> None:
    asked = ScheduleRules(1, "none", HOUR_US, 1, method="agentx", idle_cap_us=300_000_000)
    run = simulate([stalling(1999)], asked, lambda _send: 1_000_000)
    # All idle at 1 s: the system's cap of 10 s comes before the tree's of 300 s.
    assert [(row.request, row.sent_us) for row in run.rows] == [
        (0, 0),
        (1, 0),
        (2, 11_000_000),
        (3, 12_000_000),
    ]
    assert_sound(run)


def test_idle_cap_of_a_tree_moves_only_that_tree() -> None:
    busy = plan_session(
        session_of([Asked(9.0 * n, 9.0 * n + 1, (1,)) for n in range(9)], number=1), PlanRules(None, 1, None)
    )
    asked = ScheduleRules(2, "none", HOUR_US, 1, method="agentx", idle_cap_us=20_000_000)
    run = simulate([stalling(1999), busy], asked, lambda _send: 1_000_000)
    by_session = {(row.session, row.request): row.sent_us for row in run.rows}
    assert by_session[0, 2] == 21_000_000
    assert by_session[0, 3] == 22_000_000  # what was left of its own 60 s had passed with the rest
    assert [by_session[1, n] for n in range(9)] == [9_000_000 * n for n in range(9)]
    assert_sound(run)


def test_context_overflow_ends_the_stream_for_the_harness_only() -> None:
    asked = [Asked(2.0 * n, 2.0 * n + 1, (n,), agent=int(n == 3)) for n in range(5)]
    edges = [edge(0, 1, 1), edge(1, 2, 1), edge(2, 3, 1, kind="spawn"), edge(2, 4, 3), edge(3, 4, 1, kind="join")]
    plan = plan_session(session_of(asked, edges), PlanRules(None, 1, None))

    def overflow(send: Send) -> Answer:
        return Answer(1_000_000, "context_overflow" if send.request.request == 1 else None)

    for method, sent, given_up in (("published", [0, 1, 2, 3, 4], 0), ("agentx", [0, 1], 3)):
        rule = ScheduleRules(1, "none", HOUR_US, 1, method=method)  # type: ignore[arg-type]
        run = simulate([plan], rule, overflow)
        assert ([row.request for row in run.rows], run.scheduler.given_up) == (sent, given_up)
        assert run.done.reason == "completed"


def test_one_overflow_in_warmup_stops_nothing() -> None:
    plan = plan_session(
        session_of([Asked(10.0 * n, 10.0 * n + 1, (1,)) for n in range(40)], [edge(n, n + 1, 9) for n in range(39)]),
        PlanRules(None, 1, None),
    )
    asked = ScheduleRules(1, "steady", 30_000_000, 1, failure_share=0.01)
    first: list[int] = []

    def overflow(send: Send) -> Answer:
        first.append(send.request.request)
        return Answer(1_000, "context_overflow" if len(first) == 1 else None)

    run = simulate([plan], asked, overflow)
    assert run.done.reason == "duration"
    assert sum(row.phase == "profile" for row in run.rows) > 2
