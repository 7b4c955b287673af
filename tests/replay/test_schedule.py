from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.run import SentRequest
from corpus.session import Edge
from replay.commands import Done, Ended, ScheduleRules, Send, Started, Tick, Warmup
from replay.fidelity import judge
from replay.method import split_at, start_point_us
from replay.plan import PlanRules, SessionPlan, plan_session
from replay.schedule import Scheduler
from tests.replay.rehearsal import PLAIN_RULES, Asked, Simulation, edge, session_of, simulate

HOUR_US = 3_600_000_000


def rules(lanes: int = 1, warmup: Warmup = "none", duration_us: int = HOUR_US, seed: int = 42) -> ScheduleRules:
    return ScheduleRules(lanes, warmup, duration_us, seed)


def chain(number: int, length: int, delay_s: float = 1.0, took_s: float = 1.0) -> SessionPlan:
    step = delay_s + took_s
    asked = [Asked(i * step, i * step + took_s, tuple(range(i + 1))) for i in range(length)]
    edges = [edge(i, i + 1, delay_s) for i in range(length - 1)]
    return plan_session(session_of(asked, edges, number), PLAIN_RULES)


@st.composite
def random_plans(draw: st.DrawFn) -> list[SessionPlan]:
    return [draw(random_plan(number)) for number in range(draw(st.integers(1, 3)))]


@st.composite
def random_plan(draw: st.DrawFn, number: int) -> SessionPlan:
    """Any acyclic graph with recorded times that agree with it, over up to three agents."""
    asked: list[Asked] = []
    start = 0.0
    for _ in range(draw(st.integers(1, 10))):
        start += draw(st.integers(0, 5))
        asked.append(Asked(start, start + draw(st.integers(0, 8)), (1,), agent=draw(st.integers(0, 2))))
    edges: list[Edge] = []
    for dst in range(1, len(asked)):
        for src in draw(st.sets(st.integers(0, dst - 1), max_size=3)):
            gap = asked[dst].start_s - (asked[src].end_s or 0)
            anchored = gap if gap >= 0 else asked[dst].start_s - asked[src].start_s
            edges.append(edge(src, dst, anchored, anchor="end" if gap >= 0 else "start"))
    cap = draw(st.sampled_from([0, 2_000_000, 300_000_000]))
    return plan_session(session_of(asked, edges, number), PlanRules(cap, draw(st.sampled_from([1, 7])), None))


def noisy(send: Send) -> int:
    """Durations that differ from the recorded ones, the same in every run."""
    return 1_000 + (send.play * 7919 + send.request.request * 104_729) % 9_000_000


def assert_sound(run: Simulation) -> None:
    fidelity = judge(run.rows)
    assert (fidelity.edge_violations, fidelity.early_roots) == (0, 0)
    assert all(row.sent_us is not None and row.sent_us >= row.due_us for row in run.rows)


@given(plans=random_plans(), lanes=st.integers(1, 4), late=st.integers(0, 50_000))
@settings(deadline=None)
def test_every_request_is_sent_exactly_once_and_never_early(plans: list[SessionPlan], lanes: int, late: int) -> None:
    run = simulate(plans, rules(lanes, duration_us=HOUR_US * 100), noisy, lambda _send: late)
    planned = Counter((plan.session, request.request) for plan in plans for request in plan.requests)
    assert Counter((row.session, row.request) for row in run.rows) == planned
    assert_sound(run)
    assert run.scheduler.completed_plays == set(range(len(plans)))
    for row in run.rows:
        sources = {wait.src for wait in plans[row.session].requests[row.request].waits}
        assert set(row.after) == sources


@given(plans=random_plans(), lanes=st.integers(1, 4), seed=st.integers(0, 5))
@settings(deadline=None, max_examples=40)
def test_steady_run_is_never_early_and_repeats_exactly(plans: list[SessionPlan], lanes: int, seed: int) -> None:
    asked = rules(lanes, "steady", 20_000_000, seed)
    run = simulate(plans, asked, noisy)
    assert_sound(run)
    assert run.rows == simulate(plans, asked, noisy).rows
    assert set(judge(run.rows).lateness_us) <= {0}  # timers are exact here: what waited, waited for a reason in its row
    start = run.scheduler.profile_start_us
    assert start is not None
    assert run.done_at_us == start + 20_000_000
    for row in run.rows:
        assert row.sent_us is not None
        assert (row.sent_us >= start) == (row.phase == "profile") or row.sent_us == start
        assert row.phase == "profile" or (row.planned_output_tokens == 1 and set(row.after_delay_us) <= {0})


@given(plans=random_plans(), lanes=st.integers(1, 4))
@settings(deadline=None)
def test_steady_warmup_sends_primers_then_at_most_ten_a_lane(plans: list[SessionPlan], lanes: int) -> None:
    run = simulate(plans, rules(lanes, "steady", 30_000_000), noisy)
    warm = [row for row in run.rows if row.phase == "warmup"]
    for lane in range(lanes):
        plan = plans[lane % len(plans)]
        split = split_at(plan, start_point_us(plan, lane, 42))
        mine = [row for row in warm if row.lane == lane]
        assert (
            sorted(row.request for row in mine if row.release_us == 0 and row.play == lane)[: len(split.primers)]
            or not split.primers
        )
        assert len(mine) == len(split.primers) + 10
        first = [row.request for row in run.rows if row.play == lane]
        assert not split.skipped.intersection(first)


def test_single_session_of_a_lane_is_followed_by_the_next_one_in_order() -> None:
    run = simulate([chain(0, 2), chain(1, 2), chain(2, 2)], rules(lanes=1))
    assert [row.session for row in run.rows] == [0, 0, 1, 1, 2, 2]
    assert [row.play for row in run.rows] == [0, 0, 1, 1, 2, 2]


def test_lanes_play_different_sessions_at_the_same_time() -> None:
    run = simulate([chain(0, 2), chain(1, 2), chain(2, 2)], rules(lanes=2))
    assert [(row.lane, row.session) for row in run.rows if row.sent_us == 0] == [(0, 0), (1, 1)]


def test_more_lanes_than_sessions_stay_idle_without_recycling() -> None:
    run = simulate([chain(0, 2)], rules(lanes=5))
    assert [row.lane for row in run.rows] == [0, 0]


def test_delay_counts_from_the_measured_end_not_from_the_recorded_one() -> None:
    run = simulate([chain(0, 2, delay_s=4)], rules(), lambda _send: 30_000_000)
    assert run.rows[1].sent_us == 34_000_000


def test_start_anchored_request_does_not_wait_for_the_end() -> None:
    session = session_of([Asked(0, 100, (1,)), Asked(3, 4, (2,))], [edge(0, 1, 3, anchor="start")])
    run = simulate([plan_session(session, PLAIN_RULES)], rules(), lambda _send: 50_000_000)
    assert run.rows[1].sent_us == 3_000_000


def test_run_ends_at_its_duration_with_requests_in_flight_cut() -> None:
    run = simulate([chain(0, 5)], rules(duration_us=1_500), lambda _send: 1_000_000_000)
    assert run.done_at_us == 1_500
    assert [row.error for row in run.rows] == ["cut"]


def test_nothing_is_sent_at_or_after_the_end_of_the_duration() -> None:
    run = simulate([chain(0, 5, delay_s=1)], rules(duration_us=1_001_000), lambda _send: 1_000)
    assert [row.sent_us for row in run.rows] == [0]


def test_recycled_session_gets_a_fresh_play_number() -> None:
    run = simulate([chain(0, 3)], rules(warmup="steady", duration_us=60_000_000))
    plays = {row.play for row in run.rows}
    assert plays == set(range(len(plays)))
    assert len(plays) > 5
    whole = [row for row in run.rows if row.play == 4]
    assert [row.request for row in whole] == [0, 1, 2]


def steady_rows(length: int = 60) -> tuple[SessionPlan, list[SentRequest]]:
    plan = chain(0, length)
    return plan, simulate([plan], rules(warmup="steady", duration_us=10_000_000)).rows


def test_primer_is_the_latest_request_before_the_point_and_earlier_ones_are_never_sent() -> None:
    plan, rows = steady_rows()
    point = start_point_us(plan, 0, 42)
    before = [request.request for request in plan.requests if request.recorded_start_us < point]
    assert rows[0].request == before[-1]
    assert rows[0].after == ()
    assert {row.request for row in rows} & set(before) == {before[-1]}


def test_advancing_sends_ten_more_without_delays_and_profiling_goes_on_from_there() -> None:
    _, rows = steady_rows()
    assert [row.phase for row in rows[:12]] == ["warmup"] * 11 + ["profile"]
    assert [row.request - rows[0].request for row in rows[:12]] == list(range(12))
    assert {row.planned_output_tokens for row in rows[:11]} == {1}
    assert rows[11].planned_output_tokens == 2
    assert rows[11].after == (rows[10].request,)
    assert rows[11].after_delay_us == (1_000_000,)


def test_root_left_for_profiling_is_due_its_distance_after_profiling_began() -> None:
    asked = [Asked(i * 10.0, i * 10.0 + 1, (1,)) for i in range(60)]
    run = simulate([plan_session(session_of(asked), PLAIN_RULES)], rules(warmup="steady", duration_us=25_000_000))
    start = run.scheduler.profile_start_us
    assert start is not None
    profiled = [row for row in run.rows if row.phase == "profile"]
    assert [(row.sent_us or 0) - start for row in profiled] == [0, 10_000_000, 20_000_000]
    assert {row.release_us for row in profiled} == {start}


def test_first_profiled_request_keeps_its_delay_since_the_warmup_end() -> None:
    _, rows = steady_rows()
    ended = rows[10].end_us
    assert ended is not None
    assert rows[11].sent_us == ended + 1_000_000


def test_all_active_streams_are_primed_together_and_finished_ones_are_not() -> None:
    asked = [
        Asked(0, 1, (1,)),
        Asked(2, 3, (5,), agent=1),  # a sub-agent that is over at the point
        Asked(10, 90, (6,), agent=2),  # in flight at the point
        Asked(20, 21, (1, 2)),
        Asked(100, 101, (1, 2, 3)),
    ]
    plan = plan_session(session_of(asked, [edge(0, 3, 19), edge(3, 4, 79)]), PLAIN_RULES)
    split = split_at(plan, 50_000_000)
    assert [primer.request for primer in split.primers] == [2, 3]
    assert split.skipped == {0, 1}
    run = simulate([plan], rules(warmup="steady", duration_us=1_000_000))
    assert [(row.request, row.sent_us) for row in run.rows[:2]] == [(2, 0), (3, 0)]


def test_start_point_lies_in_the_middle_half_and_depends_on_seed_and_lane() -> None:
    plan = chain(0, 100)
    span = plan.requests[-1].recorded_start_us
    points = {start_point_us(plan, lane, seed) for lane in range(20) for seed in range(20)}
    assert all(0.25 * span <= point <= 0.75 * span for point in points)
    assert len(points) > 390


def test_session_of_a_single_request_is_advanced_without_a_primer() -> None:
    run = simulate([chain(0, 1)], rules(warmup="steady", duration_us=5_000))
    assert [row.play for row in run.rows if row.phase == "warmup"] == list(range(10))


def test_upcoming_names_what_is_due_soon_and_what_follows_what_is_in_flight() -> None:
    scheduler = Scheduler([chain(0, 3)], rules())
    (send, _) = scheduler.handle(Tick(0))
    assert isinstance(send, Send)
    assert scheduler.upcoming(0, 1_000) == []
    assert scheduler.handle(Started(0, 0, 10)) == []
    assert scheduler.upcoming(10, 1_000) == [(0, 0, 1)]
    scheduler.handle(Ended(0, 0, 20))
    assert scheduler.upcoming(20, 1_000) == []
    assert scheduler.upcoming(20, 2_000_000) == [(0, 0, 1)]


def test_openings_are_those_of_plays_that_will_soon_make_room_and_some_more() -> None:
    endless = ScheduleRules(40, "none", HOUR_US, 1, repeats=True)
    ending, lasting = Scheduler([chain(0, 1)], endless), Scheduler([chain(0, 3)], endless)
    for scheduler in (ending, lasting):
        scheduler.handle(Tick(0))
    assert ending.openings() == [(play, 0, 0) for play in range(40, 80)]
    assert lasting.openings() == [(play, 0, 0) for play in range(40, 56)]


def test_schedule_that_cannot_go_on_says_so_instead_of_hanging() -> None:
    scheduler = Scheduler([chain(0, 2)], rules())
    scheduler.handle(Tick(0))
    scheduler._in_flight = 0  # an answer that was lost without an event
    (done,) = scheduler.handle(Tick(5))
    assert isinstance(done, Done)
    assert done.reason == "stuck"
    assert "1 requests are left" in done.detail
