from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.session import Session
from report.cache_pass import CacheSetup
from report.lanes import Prompts, prompts_of
from report.simulation import Simulation, simulate
from tests.report.brute_cache import BruteCache, keys_of
from tests.report.corpora import corpus_of, descriptions

Make = Callable[..., Session]
CAP_US = 3_000_000


def prompts_for(make_session: Make, described: list[list[Any]]) -> tuple[list[Session], list[Prompts]]:
    sessions = corpus_of(make_session, described)
    return sessions, [prompts_of(session, CAP_US) for session in sessions]


@settings(max_examples=60)
@given(descriptions, st.integers(1, 3), st.lists(st.integers(0, 10), min_size=3, max_size=3))
def test_each_tier_serves_what_a_cache_of_its_size_has_and_smaller_tiers_have_not(
    make_session: Make, described: list[list[Any]], lanes: int, sizes: list[int]
) -> None:
    sessions, prompts = prompts_for(make_session, described)
    hbm, dram, nvme = sizes
    simulation = Simulation(prompts, CacheSetup(lanes=lanes, dram_tokens=64 * dram, nvme_tokens=64 * nvme))
    found = simulation.serve(64 * hbm)
    keys = [keys_of(session) for session in sessions]
    tiers = [BruteCache(size) for size in sizes]
    for visit, (s, r) in enumerate(
        zip(simulation.visits.session.tolist(), simulation.visits.request.tolist(), strict=True)
    ):
        served = [tier.serve(s, keys[s][r], 0, sessions[s].requests[r].input_tokens) for tier in tiers]
        within = np.maximum.accumulate(served).tolist()
        expected = (within[0], within[1] - within[0], within[2] - within[1])
        assert (found.hbm[visit], found.dram[visit], found.nvme[visit]) == expected


@settings(max_examples=60)
@given(descriptions, st.integers(1, 3))
def test_working_set_is_what_live_sessions_have_used(
    make_session: Make, described: list[list[Any]], lanes: int
) -> None:
    sessions, prompts = prompts_for(make_session, described)
    simulation = Simulation(prompts, CacheSetup(lanes=lanes))
    keys, live, expected = [keys_of(session) for session in sessions], set(), []
    visits = simulation.visits
    for s, r, last in zip(visits.session.tolist(), visits.request.tolist(), visits.is_last.tolist(), strict=True):
        live |= set(keys[s][r])
        expected.append(64 * len(live))
        live = {key for key in live if not (last and key[0] == s)}
    assert simulation.working_set().tolist() == expected
    unique = {key for of_session in keys for prompt in of_session for key in prompt}
    assert simulation.new_tokens().sum() == 64 * len(unique)


@settings(max_examples=60)
@given(descriptions, st.sampled_from([0.5, 0.9, 1.0]))
def test_capacity_for_a_share_is_the_least_that_serves_it(
    make_session: Make, described: list[list[Any]], share: float
) -> None:
    simulation = Simulation(prompts_for(make_session, described)[1], CacheSetup())
    capacity = simulation.capacity_for(share)
    wanted = share * simulation.serve(None).hbm.sum()
    assert simulation.serve(capacity).hbm.sum() >= wanted
    assert capacity == 0 or simulation.serve(capacity - 1).hbm.sum() < wanted


def two_sessions(make_session: Make) -> list[Prompts]:
    lists = [list(range(1, 401 + 100 * n)) for n in range(5)]
    steps = [(0, float(n), n + 0.5) for n in range(5)]
    return [prompts_of(make_session(steps, prompts=lists, session=n), CAP_US) for n in range(2)]


def test_document_counts_what_was_asked_and_what_was_served(make_session: Make) -> None:
    document = simulate(two_sessions(make_session), CacheSetup(lanes=2, dram_tokens=64 * 1700), [64 * 500, 64 * 1600])
    assert (document["sessions"], document["requests"], document["concurrency"]) == (2, 10, 2)
    assert document["input_tokens"] == 64 * 2 * (400 + 500 + 600 + 700 + 800)
    assert document["block_references"] == document["input_tokens"] / 64
    assert document["unique_tokens"] == 64 * 2 * 800
    assert document["working_set_tokens"]["max"] == 64 * (800 + 700)  # then the first session is over
    served = 2 * (400 + 500 + 600 + 700) / (2 * 3000)
    assert document["infinite_hit_rate"] == pytest.approx(served)
    small, large = document["capacities"]
    assert (small["capacity_tokens"], large["capacity_tokens"]) == (64 * 500, 64 * 1600)
    # each session finds 400 blocks below the other's 400, then 500 below 500, ...: 500 blocks reach a part of the first
    assert small["tiers"]["hbm"] == pytest.approx((100 + 0 + 0 + 0) / 6000)
    assert large["tiers"] == {"hbm": pytest.approx(served), "dram": 0, "nvme": 0}
    assert small["hit_rate"] == large["hit_rate"] == pytest.approx(served)
    assert small["hit_tokens"] == 64 * 2 * 2200


def test_without_capacities_the_curve_ends_where_nothing_more_is_gained(make_session: Make) -> None:
    document = simulate(two_sessions(make_session), CacheSetup(lanes=2))
    rates = [point["hit_rate"] for point in document["capacities"]]
    assert rates == sorted(rates)
    assert rates[-1] == document["infinite_hit_rate"] > rates[-2]
    sizes = [point["capacity_tokens"] for point in document["capacities"]]
    assert sizes == [2**14 * 2**n for n in range(len(sizes))]


def test_ranks_share_nothing(make_session: Make) -> None:
    prompts = two_sessions(make_session)
    alone, apart = (simulate(prompts, CacheSetup(lanes=2, ranks=ranks), [64 * 800]) for ranks in (1, 2))
    assert apart["capacities"][0]["hit_rate"] == apart["infinite_hit_rate"] > alone["capacities"][0]["hit_rate"]


def test_an_empty_corpus_has_no_rates() -> None:
    document = simulate([], CacheSetup(), [64])
    assert document["infinite_hit_rate"] is None
    assert document["capacities"][0]["hit_rate"] is None
    assert document["working_set_tokens"]["max"] is None
