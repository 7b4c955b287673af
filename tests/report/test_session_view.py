from __future__ import annotations

from collections.abc import Callable

from corpus.session import Edge, Session
from report.session_view import view_sessions

Make = Callable[..., Session]


def test_each_session_has_a_row_and_a_timeline(make_session: Make) -> None:
    view = view_sessions("c", {"from": "here"}, [make_session([(0, 0, 1)]), make_session([(0, 0, 1)], session=1)])
    assert [row[0] for row in view["rows"]] == [drawn["label"] for drawn in view["views"]] == ["session-1", "session-2"]
    assert all(len(row) == len(view["columns"]) for row in view["rows"])
    assert view["facts"] == [("from", "here")]


def test_bars_tell_main_children_asides_and_failures_apart(make_session: Make) -> None:
    changes = {2: {"purpose": "title"}, 3: {"status": 529}}
    (drawn,) = view_sessions("c", {}, [make_session([(0, 0, 1), (1, 1, 2), (0, 3, 4), (0, 5, 6)], changes)])["views"]
    tone = drawn["bars"]["tone"]
    assert [tone["words"][at] for at in tone["at"]] == ["main", "child", "aside", "failed"]
    assert drawn["lanes"] == [["main", 0], ["subagent 1", 1]]


def test_edges_say_their_delay_and_evidence(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (0, 4, 5)], edges=(Edge(0, 1, "sequence", 3_000_000, "end", "id"),))
    (drawn,) = view_sessions("c", {}, [session])["views"]
    assert drawn["links"]["words"]["words"] == ["sequence: 3.00 s after its end, known by id"]


def test_unknown_lengths_and_anomalies_are_told(make_session: Make) -> None:
    view = view_sessions("c", {}, [make_session([(0, 0, None)])])
    assert view["notes"] == ["requests whose end is unknown: 1"]
    assert view["views"][0]["note"] == "Requests of unknown length, drawn as a line: 1."


def test_the_critical_path_is_marked_where_there_are_edges(make_session: Make) -> None:
    edges = (Edge(0, 1, "sequence", 3_000_000, "end", "id"), Edge(0, 2, "spawn", 0, "end", "timing"))
    steps = [(0, 0, 1), (0, 4, 5), (1, 1, 2)]
    with_edges, without = view_sessions("c", {}, [make_session(steps, edges=edges), make_session(steps)])["views"]
    assert with_edges["critical"] == {"bars": [0, 1], "words": "critical path: 2 requests, 5.00 s of 5.00 s"}
    assert with_edges["links"]["evidence"] == {"words": ["id", "timing"], "at": [0, 1]}
    assert without["critical"] is None


def test_a_graph_with_a_cycle_has_no_critical_path_and_says_so(make_session: Make) -> None:
    edges = (Edge(0, 1, "sequence", 0, "end", "id"), Edge(1, 0, "sequence", 0, "end", "id"))
    (drawn,) = view_sessions("c", {}, [make_session([(0, 0, 1), (0, 2, 3)], edges=edges)])["views"]
    assert drawn["critical"]["bars"] == []
    assert "cycle" in drawn["critical"]["words"]
