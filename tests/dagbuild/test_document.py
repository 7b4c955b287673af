from __future__ import annotations

import json
from collections.abc import Callable

from corpus.session import Session
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
        "purpose": "turn",
        "t_start_us": 2_000_000,
        "t_end_us": None,
    }
    assert document["edges"][0] == {
        "src": 0,
        "dst": 1,
        "kind": "spawn",
        "delay_us": 1_000_000,
        "anchor": "end",
        "evidence": "timing",
    }
    assert len(document["edges"]) == len(session.edges) == 3
