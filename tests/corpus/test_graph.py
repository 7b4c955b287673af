from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.graph import critical_path, end_us, predecessors, streams_of, task_time_us, topological_order
from corpus.session import Anchor, Edge, Request
from tests.plain import plain_request

Graph = tuple[list[Request], list[Edge]]


def request(number: int, start: int, end: int | None) -> Request:
    return plain_request(number, t_start_us=start, t_end_us=end)


def edge(src: int, dst: int, delay: int = 0, anchor: Anchor = "end") -> Edge:
    return Edge(src, dst, "sequence", delay, anchor, "timing")


def recorded(source: Request, target: Request, anchor: Anchor) -> Edge:
    moment = end_us(source) if anchor == "end" else source.t_start_us
    return edge(source.request, target.request, target.t_start_us - moment, anchor)


@st.composite
def graphs(draw: st.DrawFn, *, end_anchored: bool) -> Graph:
    """Requests by start, edges as recorded: to later requests, from the end where that had come."""
    starts = sorted(draw(st.lists(st.integers(0, 50), min_size=1, max_size=7)))
    lengths = draw(st.lists(st.none() | st.integers(0, 30), min_size=len(starts), max_size=len(starts)))
    requests = [
        request(i, start, None if length is None else start + length)
        for i, (start, length) in enumerate(zip(starts, lengths, strict=True))
    ]
    pairs = [(i, j) for j in range(len(starts)) for i in range(j)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    edges = []
    for i, j in chosen:
        ended = end_us(requests[i]) <= requests[j].t_start_us
        if ended or not end_anchored:
            edges.append(recorded(requests[i], requests[j], "end" if ended else "start"))
    return requests, edges


def brute_force_us(graph: Graph) -> int:
    requests, edges = graph

    def longest_from(number: int) -> int:
        own = end_us(requests[number]) - requests[number].t_start_us
        onward = [
            (own if e.anchor == "end" else 0) + e.delay_us + longest_from(e.dst) for e in edges if e.src == number
        ]
        return max([own, *onward])

    return max(longest_from(number) for number in range(len(requests)))


def chain_us(graph: Graph, path: tuple[int, ...]) -> int:
    """Length of a path by its own requests and the longest edge between each two."""
    requests, edges = graph
    total = end_us(requests[path[-1]]) - requests[path[-1]].t_start_us
    for src, dst in pairwise(path):
        own = end_us(requests[src]) - requests[src].t_start_us
        total += max((own if e.anchor == "end" else 0) + e.delay_us for e in edges if (e.src, e.dst) == (src, dst))
    return total


@given(st.integers(1, 12), st.data())
def test_order_puts_every_source_before_its_destination(n: int, data: st.DataObject) -> None:
    names = data.draw(st.permutations(range(n)))
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] < pair[1])
    edges = [edge(names[i], names[j]) for i, j in data.draw(st.lists(pairs))] if n > 1 else []
    order = topological_order(n, edges)
    assert sorted(order) == list(range(n))
    assert all(order.index(e.src) < order.index(e.dst) for e in edges)


def test_free_requests_come_by_number() -> None:
    assert topological_order(4, [edge(3, 0)]) == [1, 2, 3, 0]


@given(st.integers(2, 8), st.data())
def test_cycle_is_refused(n: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, n - 2))
    ring = [edge(i, i + 1) for i in range(start, n - 1)] + [edge(n - 1, start)]
    with pytest.raises(ValueError, match="cycle"):
        topological_order(n, ring)
    with pytest.raises(ValueError, match="cycle"):
        critical_path([request(i, 0, 0) for i in range(n)], ring)


def test_predecessors_keep_the_order_of_the_edges() -> None:
    edges = [edge(2, 1), edge(0, 1), edge(0, 2)]
    assert predecessors(3, edges) == [[], edges[:2], edges[2:]]


@given(graphs(end_anchored=False))
def test_critical_path_is_the_longest_chain(graph: Graph) -> None:
    path = critical_path(*graph)
    assert path.duration_us == brute_force_us(graph) == chain_us(graph, path.requests)


def test_critical_path_leads_through_what_was_waited_for_last() -> None:
    requests = [request(0, 0, 10), request(1, 11, 50), request(2, 52, 60)]  # 1 is a child of 0, joined by 2
    edges = [
        Edge(0, 1, "spawn", 1, "end", "id"),
        Edge(0, 2, "sequence", 42, "end", "id"),
        Edge(1, 2, "join", 2, "end", "id"),
    ]
    assert critical_path(requests, edges).requests == (0, 1, 2)


@given(graphs(end_anchored=True))
def test_critical_path_is_no_longer_than_the_task(graph: Graph) -> None:
    assert critical_path(*graph).duration_us <= task_time_us(graph[0])


def test_idle_and_tool_time_count_on_the_path() -> None:
    requests = [request(0, 0, 10), request(1, 12, 20), request(2, 15, 18), request(3, 40, 45)]
    edges = [recorded(requests[0], requests[1], "end"), recorded(requests[1], requests[3], "end")]
    edges.append(recorded(requests[2], requests[3], "end"))
    path = critical_path(requests, edges)
    assert (path.requests, path.duration_us) == ((0, 1, 3), 45)


def test_unknown_end_counts_as_the_start() -> None:
    assert task_time_us([request(0, 5, None), request(1, 9, None)]) == 4
    assert critical_path([request(0, 5, None)], []).duration_us == 0


def test_no_requests_take_no_time() -> None:
    assert task_time_us([]) == 0
    assert critical_path([], []).requests == ()


def test_task_time_runs_to_the_last_end_not_to_the_last_request() -> None:
    first = request(0, 0, 100)
    assert task_time_us([first, replace(first, request=1, t_start_us=20, t_end_us=30)]) == 100


def test_streams_are_what_sequences_and_retries_tie_together() -> None:
    edges = [
        Edge(0, 2, "sequence", 0, "end", "id"),
        Edge(0, 1, "spawn", 0, "end", "id"),
        Edge(1, 3, "retry", 0, "end", "id"),
        Edge(3, 2, "join", 0, "end", "id"),
        Edge(2, 5, "sequence", 0, "start", "id"),
        Edge(2, 4, "aux", 0, "end", "id"),
    ]
    assert streams_of(6, edges) == [0, 1, 0, 1, 4, 0]
    assert streams_of(6, reversed(edges)) == streams_of(6, edges)
