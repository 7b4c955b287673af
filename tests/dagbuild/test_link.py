from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.exchange import Purpose
from corpus.formats.weka import read_weka
from corpus.graph import streams_of, topological_order
from corpus.purpose import PARTS
from corpus.session import Delivery, Edge, Evidence, Session, ToolCall
from dagbuild.link import link_session, merge_edges
from dagbuild.streams import split_streams

Make = Callable[..., Session]
WEKA = Path(__file__).resolve().parents[2].parent / "shared" / "traces" / "weka"
HEARD: tuple[Evidence, ...] = ("tool_result", "notification", "agent_message")


def test_edges_come_sorted_and_linking_twice_changes_nothing(make_session: Make) -> None:
    once = link_session(make_session([(0, 0, 1), (1, 2, 3), (0, 4, 5), (1, 6, 7), (0, 8, 9)]))
    assert list(once.edges) == sorted(once.edges, key=lambda e: (e.dst, e.src, e.kind))
    assert link_session(once) == once


def test_an_edge_found_twice_keeps_the_strongest_evidence() -> None:
    timed, heard = Edge(0, 1, "join", 5, "end", "timing"), Edge(0, 1, "join", 5, "end", "notification")
    assert merge_edges([timed, heard]) == merge_edges([heard, timed]) == (heard,)


def test_session_without_requests_has_no_edges(make_session: Make) -> None:
    one = link_session(make_session([(0, 0, 1)]))
    assert one.edges == ()


_PROMPT = st.lists(st.integers(0, 1), max_size=5)


@st.composite
def _any_session(draw: st.DrawFn, make: Make) -> Session:
    count = draw(st.integers(1, 14))
    starts = sorted(draw(st.lists(st.integers(0, 12), min_size=count, max_size=count)))
    agents = draw(st.integers(1, 4))
    steps = [(0 if n == 0 else draw(st.integers(0, agents - 1)), s, _end(draw, s)) for n, s in enumerate(starts)]
    purposes: dict[int, Purpose] = {
        n: draw(st.sampled_from(sorted(PARTS))) for n in range(count) if draw(st.booleans())
    }
    retries = {n: draw(st.integers(0, n - 1)) for n in range(1, count) if draw(st.integers(0, 5)) == 0}
    top = max(agent for agent, _, _ in steps)
    calls = [_call(draw, number, count, top) for number in range(draw(st.integers(0, 4)))] if top else []
    parents = {agent: draw(st.integers(0, agent - 1)) for agent in range(1, top + 1)}
    lists = draw(st.none() | st.lists(_PROMPT, min_size=count, max_size=count))
    session = make(
        steps, calls, parents=parents, purposes=purposes, retries=retries, lists=lists, weka=draw(st.booleans())
    )
    assert isinstance(session, Session)
    return session


def _end(draw: st.DrawFn, start: int) -> float | None:
    return draw(st.none() | st.integers(0, 6).map(lambda length: start + length / 2))


def _call(draw: st.DrawFn, number: int, requests: int, agents: int) -> ToolCall:
    emit = draw(st.integers(0, requests - 1))
    result = draw(st.none() | st.integers(0, requests - 1))
    delivery = st.builds(Delivery, st.integers(0, requests - 1), st.sampled_from(HEARD))
    spawned = draw(st.none() | st.integers(1, agents))
    return ToolCall(number, emit, result, "agent", None, spawned, tuple(draw(st.lists(delivery, max_size=2))))


@given(data=st.data())
def test_any_session_gives_a_sound_graph(make_session: Make, data: st.DataObject) -> None:
    _check(link_session(data.draw(_any_session(make_session))))


def _check(session: Session) -> None:
    requests, edges = session.requests, session.edges
    assert sorted(topological_order(len(requests), edges)) == list(range(len(requests)))
    assert len({(e.src, e.dst, e.kind) for e in edges}) == len(edges)
    tick = 1_000_000 if session.source_dialect == "kv-cache-tester" else 0
    for edge in edges:
        src, dst = requests[edge.src], requests[edge.dst]
        end = src.t_start_us if src.t_end_us is None else src.t_end_us
        assert edge.src < edge.dst
        if edge.anchor == "end":
            assert end <= dst.t_start_us + tick
            assert edge.delay_us == max(0, dst.t_start_us - end)
        else:
            assert src.t_start_us <= dst.t_start_us < end
            assert edge.delay_us == dst.t_start_us - src.t_start_us
    _check_roots(session)
    _check_streams(session)


def _check_streams(session: Session) -> None:
    """The edges alone tell the streams: every conversation hangs together and on no other.

    Unless a retry is said to repeat what another one asked.
    """
    tried = [(session.requests[r.retry_of], r) for r in session.requests if r.retry_of is not None]
    if any((one.agent, PARTS[one.purpose]) != (other.agent, PARTS[other.purpose]) for one, other in tried):
        return
    found, split = streams_of(len(session.requests), session.edges), split_streams(session)
    conversations = [*split.by_agent.values(), *(stream.requests for stream in split.beside)]
    ties = [{found[step.request] for step in steps} for steps in conversations if steps]
    assert all(len(tie) == 1 for tie in ties)
    assert len(set.union(set(), *ties)) == len(ties)


def _check_roots(session: Session) -> None:
    """Only what has nothing of its agent, and nothing of the agent it reports to, before it may be a root."""
    reached = {edge.dst for edge in session.edges}
    for request in session.requests:
        steps = [r for r in session.requests[: request.request] if PARTS[r.purpose] == "stream"]
        agent = session.agents[request.agent]
        owners = (
            {agent.agent} if agent.parent is None or PARTS[request.purpose] != "stream" else {agent.agent, agent.parent}
        )
        if any(r.agent in owners for r in steps):
            assert request.request in reached


@pytest.mark.skipif(not WEKA.is_dir(), reason="the public traces are not on this machine")
def test_every_real_trace_gives_a_sound_graph() -> None:
    paths = sorted(WEKA.glob("*.json"))
    assert len(paths) == 29
    for path in paths:
        for session in read_weka(path):
            linked = link_session(session)
            _check(linked)
            assert {r.request for r in linked.requests} - {e.dst for e in linked.edges} == {0}, path.name
