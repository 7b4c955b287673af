from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.session import Session
from report.cache_pass import CacheSetup, Policy, measure_reuse
from report.lanes import Prompts, Visits, prompts_of, visits_of
from report.reuse import Reuse
from report.routing import Router, Routing
from standin.engine_scheduler import Admitted, Job, Scheduler, Speed
from tests.report.brute_cache import BruteCache, keys_of
from tests.report.corpora import corpus_of, descriptions

Make = Callable[..., Session]
CAP_US = 3_000_000
setups = st.builds(
    CacheSetup,
    policy=st.sampled_from(["lru", "session-aware"]),
    lanes=st.integers(1, 3),
    ranks=st.integers(1, 3),
    routing=st.sampled_from(["round-robin", "session", "prefix"]),
    ttl_us=st.none() | st.sampled_from([0, 2_000_000, 9_000_000]),
    with_answers=st.booleans(),
)


def served(reuse: Reuse, capacity: int, ttl_us: int | None, prompts: list[Prompts], visits: Visits) -> list[int]:
    blocks = np.bincount(reuse.visit, weights=reuse.served(capacity * 64, ttl_us), minlength=len(visits.session))
    usable = [prompts[s].usable[r] for s, r in zip(visits.session.tolist(), visits.request.tolist(), strict=True)]
    tokens: list[int] = (64 * np.minimum(blocks.astype(np.int64), usable)).tolist()
    return tokens


def brute(sessions: list[Session], prompts: list[Prompts], visits: Visits, setup: CacheSetup, size: int) -> list[int]:
    """The same by caches that look at every block."""
    keys = [keys_of(session) for session in sessions]
    caches = [BruteCache(size, setup.ttl_us) for _ in range(setup.ranks)]
    router = Router(setup.routing, setup.ranks)
    found = []
    for s, r, at, last in zip(
        *(column.tolist() for column in (visits.session, visits.request, visits.at_us, visits.is_last)), strict=True
    ):
        tokens = sessions[s].requests[r].input_tokens
        promised = [cache.would_serve(keys[s][r], at, tokens) for cache in caches]
        rank = router.choose(s, promised)
        answers = int(prompts[s].answer_blocks[r]) if setup.with_answers else 0
        found.append(caches[rank].serve(s, keys[s][r], at, tokens, answers))
        router.sent(rank, tokens - found[-1])
        if last:
            router.over(s)
            for cache in caches if setup.policy == "session-aware" else ():
                cache.end(s)
    return found


@settings(max_examples=60)
@given(descriptions, setups, st.integers(0, 14))
def test_equals_brute_force_for_every_policy_routing_and_lifetime(
    make_session: Make, described: list[list[Any]], setup: CacheSetup, size: int
) -> None:
    sessions = corpus_of(make_session, described)
    prompts = [prompts_of(session, CAP_US) for session in sessions]
    visits = visits_of(prompts, setup.lanes)
    reuse = measure_reuse(prompts, visits, setup, size * 64)
    assert served(reuse, size, setup.ttl_us, prompts, visits) == brute(sessions, prompts, visits, setup, size)


@settings(max_examples=60)
@given(descriptions, st.integers(1, 3), st.integers(1, 14), st.sampled_from([128, 8192]))
def test_equals_the_stand_in_engine(
    make_session: Make, described: list[list[Any]], lanes: int, size: int, step_tokens: int
) -> None:
    sessions = corpus_of(make_session, described)
    prompts = [prompts_of(session, CAP_US) for session in sessions]
    visits = visits_of(prompts, lanes)
    engine = Scheduler(Speed(step_tokens=step_tokens), capacity_blocks=size)
    numbers: dict[object, int] = {}
    found = []
    for visit, (s, r) in enumerate(zip(visits.session.tolist(), visits.request.tolist(), strict=True)):
        request = sessions[s].requests[r]
        keys = tuple(numbers.setdefault(key, len(numbers)) for key in keys_of(sessions[s])[r])
        engine.submit(float(visit), Job(visit, keys, max(1, request.input_tokens), request.output_tokens or 1))
        found += [event.cached_tokens for event in engine.advance(float(visit)) if isinstance(event, Admitted)]
    reuse = measure_reuse(prompts, visits, CacheSetup(lanes=lanes))
    assert served(reuse, size, None, prompts, visits) == found


def hit_blocks(make_session: Make, policy: Policy, routing: Routing, ranks: int) -> list[int]:
    """Two sessions of the same shape at once, each prompt longer than the one before by a block."""
    steps = [(0, float(n), n + 0.5) for n in range(4)]
    lists = [list(range(1, 2 + n)) for n in range(4)]
    prompts = [prompts_of(make_session(steps, prompts=lists, session=n), CAP_US) for n in range(2)]
    visits = visits_of(prompts, 2)
    reuse = measure_reuse(prompts, visits, CacheSetup(policy, 2, ranks, routing), 10**6)
    return np.bincount(reuse.visit, weights=reuse.blocks, minlength=8).astype(int).tolist()


def test_round_robin_loses_what_sticky_sessions_and_prefixes_keep(make_session: Make) -> None:
    assert hit_blocks(make_session, "lru", "session", 2) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert hit_blocks(make_session, "lru", "prefix", 2) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert hit_blocks(make_session, "lru", "round-robin", 3) == [0, 0, 0, 0, 0, 0, 1, 1]
