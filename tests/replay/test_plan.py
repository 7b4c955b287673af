from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.errors import InputError
from corpus.session import Edge
from replay.plan import Graph, PlanRules, Wait, count_dropped, marker_blocks, plan_session, whole_blocks
from tests.replay.rehearsal import PLAIN_RULES, Asked, edge, session_of


def rules(idle_cap_s: float = 300, speedup: float = 1, max_context: int | None = None) -> PlanRules:
    return PlanRules(round(idle_cap_s * 1e6), speedup, max_context)


CHAIN = session_of(
    [Asked(0, 2, (1, 2)), Asked(3, 5, (1, 2, 3)), Asked(1000, 1010, (1, 2, 3, 4))], [edge(0, 1, 1), edge(1, 2, 995)]
)


def test_delays_are_capped_then_sped_up() -> None:
    plan = plan_session(CHAIN, rules(idle_cap_s=300, speedup=10))
    assert [request.waits for request in plan.requests] == [
        (),
        (Wait(0, 100_000, "end"),),
        (Wait(1, 30_000_000, "end"),),
    ]


def test_negative_delay_becomes_zero() -> None:
    session = session_of([Asked(0, 2), Asked(1, 3)], [edge(0, 1, -1)])
    plan = plan_session(session_of([Asked(0, 2, (1,)), Asked(1, 3, (1,))], session.edges), PLAIN_RULES)
    assert plan.requests[1].waits == (Wait(0, 0, "end"),)


def test_output_is_at_least_one_token_even_when_unknown() -> None:
    session = session_of([Asked(0, 1, (1,), output_tokens=tokens) for tokens in (None, 0, 7)])
    assert [request.output_tokens for request in plan_session(session, PLAIN_RULES).requests] == [1, 1, 7]


def test_root_offsets_leave_out_idle_time_beyond_the_cap() -> None:
    session = session_of([Asked(5, 10, (1,)), Asked(12, 13, (2,)), Asked(5000, 5001, (3,)), Asked(5002, 5003, (4,))])
    plan = plan_session(session, rules(idle_cap_s=300))
    assert [request.offset_us / 1e6 for request in plan.requests] == [0, 7, 308, 310]


def test_request_over_the_context_is_dropped_alone_and_counted() -> None:
    plan = plan_session(CHAIN, rules(max_context=3 * 64 + 1))
    assert [request.request for request in plan.requests] == [0]
    assert count_dropped([plan]) == {"over_context": 2}
    assert plan.total == 3


def test_empty_prompt_is_dropped_and_counted() -> None:
    plan = plan_session(session_of([Asked(0, 1, (), input_tokens=0), Asked(1, 2, (1,))]), PLAIN_RULES)
    assert [request.request for request in plan.requests] == [1]
    assert count_dropped([plan]) == {"empty_prompt": 1}


def test_dropped_request_hands_on_what_it_waited_for_with_the_time_it_took() -> None:
    session = session_of(
        [Asked(0, 2, (1,)), Asked(3, 50, tuple(range(100))), Asked(60, 61, (1, 2))], [edge(0, 1, 1), edge(1, 2, 10)]
    )
    plan = plan_session(session, rules(idle_cap_s=1000, max_context=1000))
    assert plan.requests[1].waits == (Wait(0, 58_000_000, "end"),)  # 60 - 2: the recorded distance


def test_dropped_request_anchored_at_its_start_hands_on_the_delay_alone() -> None:
    session = session_of(
        [Asked(0, 2, (1,)), Asked(3, 50, tuple(range(100))), Asked(10, 61, (1, 2))],
        [edge(0, 1, 1), edge(1, 2, 7, anchor="start")],
    )
    plan = plan_session(session, rules(max_context=1000))
    assert plan.requests[1].waits == (Wait(0, 8_000_000, "end"),)


def test_two_dropped_in_a_row_are_bridged() -> None:
    session = session_of(
        [Asked(0, 1, (1,)), Asked(2, 3, tuple(range(100))), Asked(4, 5, tuple(range(101))), Asked(6, 7, (1,))],
        [edge(0, 1, 1), edge(1, 2, 1), edge(2, 3, 1)],
    )
    plan = plan_session(session, rules(max_context=1000))
    assert plan.requests[1].waits == (Wait(0, 5_000_000, "end"),)


def test_cycle_is_an_input_error() -> None:
    session = session_of([Asked(0, 1, (1,)), Asked(0, 1, (1,))], [edge(0, 1, 0), edge(1, 0, 0)])
    with pytest.raises(InputError, match="cycle"):
        plan_session(session, PLAIN_RULES)


def test_side_requests_are_streams_of_their_own() -> None:
    session = session_of(
        [
            Asked(0, 1, (1,)),
            Asked(0.5, 1, (9,), purpose="title"),
            Asked(2, 3, (1, 2)),
            Asked(2.5, 3, (8,)),
            Asked(2.6, 3, (7,), agent=1),
        ],
        [edge(0, 2, 1), edge(2, 3, 0.5, anchor="start", kind="aux")],
    )
    streams = [request.stream for request in plan_session(session, PLAIN_RULES).requests]
    assert streams[0] == streams[2]
    assert len(set(streams)) == 4


@pytest.mark.parametrize(
    ("tokens", "listed", "whole"),
    [(128, 2, 2), (130, 3, 2), (130, 2, 2), (500, 2, 2), (63, 1, 0), (64, 0, 0)],
)
def test_listed_blocks_count_only_where_the_prompt_fills_them(tokens: int, listed: int, whole: int) -> None:
    assert whole_blocks(tokens, listed, 64) == whole


@given(data=st.data(), sizes=st.lists(st.integers(1, 40), min_size=2, max_size=12))
def test_no_kept_request_waits_for_a_dropped_one_and_order_is_kept(data: st.DataObject, sizes: list[int]) -> None:
    n = len(sizes)
    edges: list[Edge] = []
    for dst in range(1, n):
        sources = data.draw(st.sets(st.integers(0, dst - 1), max_size=3))
        edges += [edge(src, dst, dst - src - 0.5) for src in sources]
    asked = [Asked(i, i + 0.5, tuple(range(size))) for i, size in enumerate(sizes)]
    plan = plan_session(session_of(asked, edges), rules(max_context=20 * 64))
    kept = {request.request for request in plan.requests}
    reach = {request.request: {wait.src for wait in request.waits} for request in plan.requests}
    assert all(sources <= kept for sources in reach.values())
    before = ancestors(n, [(one.src, one.dst) for one in edges])
    after = ancestors(n, [(src, dst) for dst, sources in reach.items() for src in sources])
    assert all(after[request] == before[request] & kept for request in kept)


def ancestors(n: int, pairs: list[tuple[int, int]]) -> list[set[int]]:
    found: list[set[int]] = [set() for _ in range(n)]
    for dst in range(n):
        for src, to in pairs:
            if to == dst:
                found[dst] |= {src} | found[src]
    return found


def test_markers_are_listed_only_where_they_are_not_at_the_front() -> None:
    drawn = plan_session(CHAIN, PLAIN_RULES, lambda _session: Graph(((0, 1, 2),), {}, marker_block={1: 2}))
    plain = plan_session(replace(CHAIN, session=5), PLAIN_RULES)
    assert marker_blocks([drawn, plain]) == {0: {1: 2}}
    assert [request.marker_block for request in drawn.requests] == [0, 2, 0]


def test_drawn_graph_may_read_the_clock_otherwise() -> None:
    drawn = plan_session(CHAIN, PLAIN_RULES, lambda _session: Graph(((0,), (1,), (2,)), {}, starts_us={1: 50_000_000}))
    moved = drawn.requests[1]
    assert (moved.recorded_start_us, moved.recorded_end_us, moved.offset_us) == (50_000_000, 52_000_000, 50_000_000)


def test_open_loop_has_offsets_and_no_waits() -> None:
    clocked = replace(CHAIN, source='{"id": "x", "t0_us": 40}')
    plan = plan_session(clocked, PlanRules(1, 2, None, open_loop=True))
    assert [(request.offset_us, request.waits) for request in plan.requests] == [
        (0, ()),
        (1_500_000, ()),
        (500_000_000, ()),
    ]
    assert plan.clock_us == 20
    assert plan_session(clocked, PLAIN_RULES).clock_us is None


def test_circle_of_a_drawn_graph_is_refused() -> None:
    waits = {0: (Wait(1, 0, "end"),), 1: (Wait(0, 0, "end"),)}
    with pytest.raises(InputError, match="without --compat"):
        plan_session(CHAIN, PLAIN_RULES, lambda _session: Graph(((0,), (1,), (2,)), waits))
