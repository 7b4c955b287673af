from __future__ import annotations

import hashlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from replay.method import agentx_start_point_us, split_at, start_point_us
from replay.plan import PlannedRequest, SessionPlan

LANES = st.integers(0, 50)


def planned(number: int, start_s: float, end_s: float | None, stream: int) -> PlannedRequest:
    start = round(start_s * 1e6)
    end = None if end_s is None else round(end_s * 1e6)
    return PlannedRequest(number, 0, stream, None, 10, 5, (), start, start, end)


def plan_of(*requests: PlannedRequest) -> SessionPlan:
    return SessionPlan(3, "trace-3", requests, len(requests), ())


LONG = plan_of(*(planned(n, 100 + 7 * n, None, 0) for n in range(40)))


@given(lane=LANES, seed=st.integers(0, 1000))
def test_both_start_points_lie_in_the_middle_half_and_repeat(lane: int, seed: int) -> None:
    first, span = 100e6, 7 * 39 * 1e6
    for rule in (start_point_us, agentx_start_point_us):
        assert first + 0.25 * span <= rule(LONG, lane, seed) <= first + 0.75 * span
        assert rule(LONG, lane, seed) == rule(LONG, lane, seed)
        assert rule(LONG, lane, seed) != rule(LONG, lane + 1, seed)


def test_start_point_of_the_harness_follows_its_formula() -> None:
    seed = int.from_bytes(hashlib.sha256(b"42:trace-3:5").digest()[:8])
    expected = np.random.default_rng(seed).uniform(100_000 + 0.25 * 273_000, 100_000 + 0.75 * 273_000)
    assert agentx_start_point_us(LONG, 5, 42) == expected * 1000


def test_session_without_a_span_starts_at_its_only_moment() -> None:
    plan = plan_of(planned(0, 5, 6, 0))
    assert start_point_us(plan, 0, 1) == agentx_start_point_us(plan, 0, 1) == 5_000_000


def test_harness_primes_no_stream_that_only_has_a_request_in_flight() -> None:
    plan = plan_of(planned(0, 0, 1, 0), planned(1, 2, 90, 1), planned(2, 60, 61, 0))
    ours = split_at(plan, 50e6)
    theirs = split_at(plan, 50e6, primes_last_in_flight=False)
    assert ([r.request for r in ours.primers], set(ours.skipped)) == ([0, 1], set())
    assert ([r.request for r in theirs.primers], set(theirs.skipped)) == ([0], {1})


def test_history_of_a_stream_ends_at_its_first_request_after_the_point_even_out_of_order() -> None:
    plan = plan_of(planned(0, 0, 1, 0), planned(2, 60, 61, 0), planned(1, 20, 21, 0))
    split = split_at(plan, 50e6)
    assert [r.request for r in split.primers] == [0]
    assert split.skipped == frozenset()


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 30), st.integers(0, 3)), min_size=1), st.integers(0, 100))
def test_each_alive_stream_has_one_primer_and_nothing_before_it_is_sent(
    drawn: list[tuple[int, int, int]], point_s: int
) -> None:
    requests = [planned(n, at, at + took, stream) for n, (at, took, stream) in enumerate(sorted(drawn))]
    split = split_at(plan_of(*requests), point_s * 1e6)
    before = {r.request for r in requests if r.recorded_start_us < point_s * 1e6}
    assert split.skipped | {r.request for r in split.primers} == before
    for stream in {r.stream for r in requests}:
        mine = [r.request for r in requests if r.stream == stream]
        primers = [r.request for r in split.primers if r.stream == stream]
        assert primers in ([], [max(set(mine) & before, default=-1)])
