from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from corpus.session import Edge, Session
from dagbuild.document import graph_document
from dagbuild.link import link_session


def test_document_has_the_contracted_shape(make_session: Callable[..., Session]) -> None:
    session = link_session(make_session([(0, 0, 1), (1, 2, None), (0, 4, 5)]))
    document = graph_document(session)
    assert json.loads(json.dumps(document)) == document
    assert document["session"] == session.label
    assert document["agents"][1] == {"agent": 1, "parent": None, "kind": "subagent"}
    assert document["requests"][1] == {
        "req": 1,
        "agent": 1,
        "stream": 1,
        "purpose": "turn",
        "t_start_us": 2_000_000,
        "t_end_us": None,
        "end": "complete",
        "attempts": [],
    }
    assert document["edges"][0] == {
        "src": 0,
        "dst": 1,
        "kind": "spawn",
        "delay_us": 1_000_000,
        "anchor": "end",
        "evidence": "timing",
        "cause": None,
        "retried_us": 0,
    }
    assert len(document["edges"]) == len(session.edges) == 3


def test_document_says_how_long_the_task_took_and_along_which_requests(make_session: Callable[..., Session]) -> None:
    document = graph_document(link_session(make_session([(0, 0, 1), (1, 2, 6), (0, 3, 4), (0, 7, 8)])))
    assert document["task_time_us"] == 8_000_000
    assert document["critical_path"] == {"requests": [0, 1, 3], "duration_us": 8_000_000}


def test_streams_are_the_agents_own_then_what_was_found_beside(make_session: Callable[..., Session]) -> None:
    lists = [[1], [1, 2], [50], [1, 2, 3]]
    session = make_session([(0, 0, 1), (0, 2, 3), (0, 2.5, 4), (0, 5, 6)], lists=lists, purposes={0: "title"})
    document = graph_document(link_session(session))
    assert document["streams"] == [
        {"stream": 0, "agent": 0, "kind": "own", "fork_of": None},
        {"stream": 1, "agent": 0, "kind": "found", "fork_of": None},
    ]
    assert [request["stream"] for request in document["requests"]] == [None, 0, 1, 0]


def test_edges_in_a_circle_are_refused(make_session: Callable[..., Session]) -> None:
    circle = tuple(Edge(a, b, "sequence", 0, "end", "id") for a, b in ((0, 1), (1, 0)))
    with pytest.raises(ValueError, match="cycle"):
        graph_document(replace(make_session([(0, 0, 1), (0, 2, 3)]), edges=circle))
