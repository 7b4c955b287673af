from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from corpus.errors import InputError
from corpus.session import Session
from replay.plan import Graph
from replay.run_plan import plan_rules, plan_run
from replay.settings import ReplaySettings
from tests.replay.rehearsal import Asked, edge, session_of

SETTINGS = ReplaySettings("http://127.0.0.1:1", "m", Path("out"), "words", concurrency=2)
ONE = session_of([Asked(0, 1, (1,)), Asked(500, 501, (1, 2))], [edge(0, 1, 499)])
LONG = session_of([Asked(0, 1, tuple(range(100)))], number=1)


def on_clock(number: int, at_us: int) -> Session:
    return replace(ONE, session=number, source=f'{{"id": "s{number}", "t0_us": {at_us}}}')


def test_sessions_of_which_nothing_is_left_are_counted_and_not_played() -> None:
    planned = plan_run([ONE, LONG], replace(SETTINGS, max_context=1000))
    assert [plan.session for plan in planned.plans] == [0]
    assert (planned.dropped, planned.corpus_requests) == ({"over_context": 1}, 3)
    assert planned.dropped_sessions == (LONG.label,)


def test_nothing_left_at_all_is_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match="no request is left to send \\(1 over_context\\)"):
        plan_run([LONG], replace(SETTINGS, max_context=1000))


def test_two_sessions_of_one_number_are_refused() -> None:
    with pytest.raises(InputError, match="same number"):
        plan_run([ONE, ONE], SETTINGS)


def test_published_method_caps_delays_and_the_harness_caps_trees() -> None:
    published = plan_run([ONE], SETTINGS)
    assert published.plans[0].requests[1].waits[0].delay_us == 300_000_000
    theirs = plan_run([ONE], replace(SETTINGS, method="agentx"))
    assert theirs.plans[0].requests[1].waits[0].delay_us == 499_000_000
    assert theirs.rules.idle_cap_us == 300_000_000
    assert plan_rules(replace(SETTINGS, method="agentx")).idle_cap_us is None


def test_drawn_graph_replaces_the_edges() -> None:
    planned = plan_run([ONE], SETTINGS, lambda _session: Graph(((0,), (1,)), {}))
    assert [request.waits for request in planned.plans[0].requests] == [(), ()]
    assert [request.stream for request in planned.plans[0].requests] == [0, 1]


def test_sessions_of_one_clock_arrive_by_it_and_others_fill_lanes() -> None:
    loop = replace(SETTINGS, open_loop=True, warmup="none", speedup=2)
    clocked = [on_clock(0, 9_000_000), on_clock(1, 5_000_000)]
    assert plan_run(clocked, loop).rules.arrivals_us == (2_000_000, 0)
    assert plan_run([ONE], loop).rules.arrivals_us is None
    assert plan_run(clocked, SETTINGS).rules.arrivals_us is None
