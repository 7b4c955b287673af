from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.blocks import encode_blocks, expand_blocks, expand_segments
from corpus.dropping import bridge_edges, drop_requests, over_context
from corpus.graph import topological_order
from corpus.session import Agent, Edge, Session
from corpus.soundness import find_flaw


def reachable(n: int, edges: tuple[Edge, ...]) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    for number in topological_order(n, edges):
        for edge in edges:
            if edge.dst == number:
                found |= {(edge.src, number)} | {(src, number) for src, dst in found if dst == edge.src}
    return found


def with_prompts(
    session: Session, prompts: list[list[int]], edges: list[tuple[int, int]], agents: list[int]
) -> Session:
    """As many requests as prompts, one a second, in the given agents; edges of one second."""
    blocks = encode_blocks(prompts)
    requests = tuple(
        replace(
            session.requests[0],
            request=n,
            position=n,
            agent=agents[n],
            t_start_us=n * 1_000_000,
            t_end_us=n * 1_000_000 + 1,
            input_tokens=64 * len(prompt),
            blocks=blocks[n],
            segments=None,
        )
        for n, prompt in enumerate(prompts)
    )
    linked = tuple(Edge(src, dst, "sequence", 1_000_000, "end", "id") for src, dst in edges)
    return replace(session, requests=requests, edges=linked, tool_calls=())


@given(st.data())
def test_what_stays_keeps_its_prompt_its_time_and_its_order(data: st.DataObject) -> None:
    session: Session = plain_session()
    count = data.draw(st.integers(1, 8))
    prompts = data.draw(st.lists(st.lists(st.integers(0, 4), max_size=5), min_size=count, max_size=count))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(lambda pair: pair[0] < pair[1])
    edges = sorted(data.draw(st.sets(pairs, max_size=10))) if count > 1 else []
    agents = data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    session = with_prompts(session, prompts, edges, agents)
    gone = data.draw(st.sets(st.integers(0, count - 1), max_size=count))
    left = drop_requests(session, gone)
    assert find_flaw(left) is None
    stay = [n for n in range(count) if n not in gone]
    assert [r.position for r in left.requests] == stay
    assert [r.t_start_us for r in left.requests] == [session.requests[n].t_start_us for n in stay]
    kept = [ids.tolist() for ids in expand_blocks([r.blocks for r in left.requests])]
    assert kept == [prompts[n] for n in stay]
    before = {(a, b) for a, b in reachable(count, session.edges) if a in stay and b in stay}
    assert {(stay[a], stay[b]) for a, b in reachable(len(stay), left.edges)} == before
    assert len(left.agents) == len({r.agent for r in left.requests} | {0} | ({1, 2} - set(agents)))


def plain_session() -> Session:
    from corpus.formats.weka_reader import session_from_weka

    entry = {"t": 0.5, "type": "n", "model": "m", "in": 64, "out": 1, "hash_ids": [0]}
    trace = {"id": "x", "models": ["m"], "block_size": 64, "hash_id_scope": "local", "requests": [entry]}
    session = session_from_weka(trace, "here", 0)
    return replace(session, agents=(*session.agents, Agent(1, 0, "subagent"), Agent(2, 1, "subagent")))


def test_nothing_dropped_is_the_same_session(captured: Session) -> None:
    assert drop_requests(captured, ()) is captured


def test_segments_stay_with_their_requests(captured: Session) -> None:
    before = expand_segments(captured.requests)
    assert expand_segments(drop_requests(captured, {0, 3}).requests) == [before[n] for n in (1, 2, 4, 5, 6)]


def test_emptied_agent_goes_and_its_child_moves_up(captured: Session) -> None:
    left = drop_requests(captured, {3, 5})  # all of agent 1, the parent of agent 2
    assert left.agents == (Agent(0, None, "main"), Agent(1, 0, "workflow"))
    assert left.requests[3].agent == 1
    assert left.tool_calls[0].spawned is None
    assert len(left.tool_calls) == 1  # the other one was made by a dropped answer


def test_bridge_keeps_the_recorded_distance_and_the_weaker_evidence(captured: Session) -> None:
    left = drop_requests(captured, {3})
    # 2 ended at 5.0 s, 4 started at 7.1 s; spawn by id, then spawn by timing
    assert left.edges == (
        Edge(1, 2, "retry", 400_000, "end", "id"),
        Edge(2, 3, "spawn", 2_100_000, "end", "timing"),
        Edge(4, 5, "join", 500_000, "end", "tool_result"),
    )


@pytest.mark.parametrize(
    ("first", "second", "agents", "kind"),
    [
        ("sequence", "sequence", (0, 0, 0), "sequence"),
        ("retry", "sequence", (0, 0, 0), "sequence"),
        ("spawn", "sequence", (0, 1, 1), "spawn"),
        ("sequence", "spawn", (0, 0, 1), "spawn"),
        ("sequence", "join", (1, 1, 0), "join"),
        ("spawn", "join", (0, 1, 0), "sequence"),
        ("aux", "join", (0, 0, 0), "sequence"),
        ("sequence", "aux", (0, 0, 0), "aux"),
        ("aux", "sequence", (0, 2, 2), "sequence"),
    ],
)
def test_bridge_is_named_by_what_it_crosses(first: str, second: str, agents: tuple[int, ...], kind: str) -> None:
    session = with_prompts(plain_session(), [[0], [0], [0]], [(0, 1), (1, 2)], list(agents))
    kinds = dict(zip((1, 2), (first, second), strict=True))
    edges = [replace(edge, kind=kinds[edge.dst]) for edge in session.edges]  # type: ignore[arg-type]  # plain words
    assert [edge.kind for edge in bridge_edges(session.requests, edges, {1})] == [kind]


def test_retry_of_a_dropped_attempt_repeats_the_one_before() -> None:
    session = with_prompts(plain_session(), [[0], [0], [0]], [], [0, 0, 0])
    chain = tuple(replace(r, retry_of=n - 1 if n else None) for n, r in enumerate(session.requests))
    session = replace(session, requests=chain)
    assert [r.retry_of for r in drop_requests(session, {1}).requests] == [None, 0]
    assert [r.retry_of for r in drop_requests(session, {0}).requests] == [None, 0]


def test_result_moves_to_the_next_prompt_of_its_agent(captured: Session) -> None:
    assert [c.result for c in drop_requests(captured, {6}).tool_calls] == [None, 5]
    call = replace(captured.tool_calls[0], result=1, deliveries=())
    session = replace(captured, tool_calls=(call,))
    assert drop_requests(session, {1}).tool_calls[0].result == 1  # what was request 2


def test_over_context_counts_prompt_and_answer(captured: Session) -> None:
    assert over_context(captured, 342) == {6}
    assert over_context(captured, 341) == {0, 1, 2, 6}
    assert np.all([r.input_tokens + (r.output_tokens or 0) <= 400 for r in captured.requests])
    assert over_context(captured, 400) == set()
