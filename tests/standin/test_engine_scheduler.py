"""The engine's scheduler in virtual time."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standin.engine_scheduler import Admitted, Event, Finished, Job, Scheduler, Speed, Token


def drain(scheduler: Scheduler, now_s: float = 0.0) -> list[Event]:
    events = scheduler.advance(now_s)
    while (due := scheduler.next_s()) is not None:
        events += scheduler.advance(due)
    return events


def job(number: int, prompt: int, output: int = 1, family: int = 0) -> Job:
    return Job(number, tuple(hash((family, i)) for i in range(prompt // 64)), prompt, output)


def admitted(events: list[Event]) -> dict[int, int]:
    return {e.number: e.cached_tokens for e in events if isinstance(e, Admitted)}


def test_first_token_comes_after_prefill_and_the_rest_one_decode_interval_apart() -> None:
    scheduler = Scheduler(Speed(prefill_tokens_s=1000, decode_tokens_s=10))
    scheduler.submit(5.0, job(1, prompt=500, output=3))
    events = drain(scheduler, 5.0)
    assert [e.t_s for e in events if isinstance(e, Token)] == pytest.approx([5.5, 5.6, 5.7])
    assert isinstance(events[-1], Finished)
    assert events[-1].t_s == pytest.approx(5.7)


def test_nothing_happens_before_its_time() -> None:
    scheduler = Scheduler(Speed(prefill_tokens_s=1000))
    scheduler.submit(0.0, job(1, prompt=500))
    assert [type(e) for e in scheduler.advance(0.499)] == [Admitted]
    assert [type(e) for e in scheduler.advance(0.5)] == [Token, Finished]
    assert scheduler.next_s() is None


def test_cached_tokens_are_whole_blocks_and_never_the_last_token() -> None:
    scheduler = Scheduler(Speed())
    for number, prompt in enumerate((640, 640, 641, 700, 63)):
        scheduler.submit(0.0, job(number, prompt))
        drain(scheduler)
        scheduler.submit(0.0, job(100 + number, prompt))
        cached = admitted(drain(scheduler))[100 + number]
        assert cached == (prompt - 1) // 64 * 64


def test_blocks_are_shared_as_soon_as_they_are_scheduled() -> None:
    scheduler = Scheduler(Speed(prefill_tokens_s=1000, step_tokens=320))
    scheduler.submit(0.0, job(1, 640))  # takes two steps
    events = scheduler.advance(0.1)
    scheduler.submit(0.1, job(2, 640))  # comes while the first half is computed, is admitted after the second
    assert admitted(events + drain(scheduler, 0.1)) == {1: 0, 2: 576}


def test_a_request_of_the_same_step_shares_what_stands_before_it() -> None:
    scheduler = Scheduler(Speed(prefill_tokens_s=1000))
    scheduler.submit(0.0, job(1, 640))
    scheduler.submit(0.0, job(2, 640))
    assert admitted(drain(scheduler, 0.0)) == {1: 0, 2: 576}


def test_least_recently_used_blocks_are_evicted_at_a_small_capacity() -> None:
    scheduler = Scheduler(Speed(), capacity_blocks=10)
    hits = []
    for number, family in enumerate((1, 2, 1, 3, 2)):  # each prompt holds 5 blocks
        scheduler.submit(0.0, job(number, 321, family=family))
        hits.append(admitted(drain(scheduler))[number])
    assert hits == [0, 0, 320, 0, 0]


def test_reset_cache_forgets_everything() -> None:
    scheduler = Scheduler(Speed())
    scheduler.submit(0.0, job(1, 640))
    drain(scheduler)
    scheduler.reset_cache()
    scheduler.submit(0.0, job(2, 640))
    assert admitted(drain(scheduler)) == {2: 0}


def test_requests_beyond_max_running_wait_in_order() -> None:
    scheduler = Scheduler(Speed(decode_tokens_s=10, max_running=2))
    for number in range(4):
        scheduler.submit(0.0, job(number, 10, output=2, family=number))
    first = scheduler.advance(0.0)
    assert sorted(admitted(first)) == [0, 1]
    assert (scheduler.running, scheduler.waiting) == (2, 2)
    assert [e.number for e in drain(scheduler) if isinstance(e, Finished)] == [0, 1, 2, 3]


def test_a_running_request_that_fills_the_cache_holds_the_next_one_back() -> None:
    scheduler = Scheduler(Speed(decode_tokens_s=10), capacity_blocks=10)
    scheduler.submit(0.0, job(1, 500, output=2, family=1))
    scheduler.submit(0.0, job(2, 500, output=1, family=2))
    assert list(admitted(scheduler.advance(0.0))) == [1]
    assert scheduler.cache_usage() == pytest.approx(0.8)
    assert [e.number for e in drain(scheduler) if isinstance(e, Finished)] == [1, 2]


def test_a_long_prompt_is_cut_into_steps_so_that_others_keep_decoding() -> None:
    scheduler = Scheduler(Speed(prefill_tokens_s=1000, decode_tokens_s=100, step_tokens=100))
    scheduler.submit(0.0, job(1, 50, output=30, family=1))
    scheduler.advance(0.06)
    scheduler.submit(0.06, job(2, 1000, family=2))
    events = drain(scheduler, 0.06)
    first_of_two = next(i for i, e in enumerate(events) if isinstance(e, Token) and e.number == 2)
    assert sum(isinstance(e, Token) and e.number == 1 for e in events[:first_of_two]) >= 10


def test_aborted_requests_leave_no_events_and_free_their_place() -> None:
    scheduler = Scheduler(Speed(decode_tokens_s=10, max_running=1))
    scheduler.submit(0.0, job(1, 10, output=100))
    scheduler.submit(0.0, job(2, 10, output=1, family=2))
    scheduler.submit(0.0, job(3, 10, output=1, family=3))
    scheduler.advance(0.05)
    scheduler.abort(1)
    scheduler.abort(3)
    events = drain(scheduler, 0.05)
    assert [e.number for e in events if isinstance(e, Finished)] == [2]
    assert (scheduler.running, scheduler.waiting) == (0, 0)


speeds = st.sampled_from([math.inf, 1000.0, 37.0])
jobs = st.lists(st.tuples(st.integers(1, 400), st.integers(1, 6), st.integers(0, 2), st.floats(0, 3)), max_size=12)


@given(jobs, speeds, speeds, st.integers(1, 4), st.integers(16, 200), st.one_of(st.none(), st.integers(1, 12)))
def test_every_request_ends_with_exactly_its_tokens_in_order_of_time(
    given_jobs: list[tuple[int, int, int, float]],
    prefill: float,
    decode: float,
    running: int,
    step: int,
    capacity: int | None,
) -> None:
    scheduler = Scheduler(Speed(prefill, decode, running, step), capacity)
    events: list[Event] = []
    arrivals = sorted(enumerate(given_jobs), key=lambda item: item[1][3])
    for number, (prompt, output, family, at) in arrivals:
        events += scheduler.advance(at)
        scheduler.submit(at, job(number, prompt, output, family))
    events += drain(scheduler, 3.0)
    for number, (prompt, output, _, at) in enumerate(given_jobs):
        mine = [e for e in events if e.number == number]
        assert [type(e) for e in mine] == [Admitted, *[Token] * output, Finished]
        assert all(one.t_s <= two.t_s for one, two in pairwise(mine))
        first = mine[0]
        assert isinstance(first, Admitted)
        assert first.t_s >= at - 1e-9
        assert 0 <= first.cached_tokens < prompt
    assert len(admitted(events)) == len(given_jobs)
