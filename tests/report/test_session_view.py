from __future__ import annotations

from collections.abc import Callable

from corpus.session import Edge, Session
from report.session_view import view_sessions
from tests.report.listed import listed

Make = Callable[..., Session]


def test_each_session_has_a_row_and_a_timeline(make_session: Make) -> None:
    view = listed(
        view_sessions("c", {"from": "here"}, [make_session([(0, 0, 1)]), make_session([(0, 0, 1)], session=1)])
    )
    assert [row[0] for row in view["rows"]] == [drawn["label"] for drawn in view["views"]] == ["session-1", "session-2"]
    assert all(len(row) == len(view["columns"]) for row in view["rows"])
    assert view["facts"] == [["from", "here"]]


def test_bars_tell_main_children_asides_and_failures_apart(make_session: Make) -> None:
    changes = {2: {"purpose": "title"}, 3: {"status": 529}}
    view = listed(view_sessions("c", {}, [make_session([(0, 0, 1), (1, 1, 2), (0, 3, 4), (0, 5, 6)], changes)]))
    tone = view["sheet"]["bars"]["tone"]
    assert [tone["words"][at] for at in tone["at"]] == ["main", "child", "aside", "failed"]
    assert view["views"][0]["lanes"] == [["main", 0], ["subagent 1", 1]]


def test_edges_and_their_evidence_go_by_rows_of_the_sheet(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (0, 4, 5)], edges=(Edge(0, 1, "sequence", 3_000_000, "end", "id"),))
    view = listed(view_sessions("c", {}, [make_session([(0, 0, 1)]), session]))
    links = view["sheet"]["links"]
    assert (links["dst"], links["back"], links["delay"], links["start"]) == ([2], [1], [0], [0])
    assert links["evidence"] == {"words": ["id"], "at": [0]}
    assert [drawn["links"] for drawn in view["views"]] == [[0, 0], [0, 1]]
    assert [drawn["rows"] for drawn in view["views"]] == [[0, 1], [1, 3]]


def test_unknown_lengths_and_anomalies_are_told(make_session: Make) -> None:
    view = listed(view_sessions("c", {}, [make_session([(0, 0, None)])]))
    assert view["notes"] == ["requests whose end is unknown: 1"]
    assert view["views"][0]["note"] == "Requests of unknown length, drawn as a line: 1."


def test_the_critical_path_is_marked_where_there_are_edges(make_session: Make) -> None:
    edges = (Edge(0, 1, "sequence", 3_000_000, "end", "id"), Edge(0, 2, "spawn", 0, "end", "timing"))
    steps = [(0, 0, 1), (0, 4, 5), (1, 1, 2)]
    view = listed(view_sessions("c", {}, [make_session(steps, edges=edges), make_session(steps)]))
    with_edges, without = view["views"]
    assert with_edges["critical"] == "critical path: 2 requests, 5.00 s of 5.00 s"
    assert view["sheet"]["critical"] == [1, 1, 0, 0, 0, 0]
    assert without["critical"] is None


def test_a_graph_with_a_cycle_has_no_critical_path_and_says_so(make_session: Make) -> None:
    edges = (Edge(0, 1, "sequence", 0, "end", "id"), Edge(1, 0, "sequence", 0, "end", "id"))
    view = listed(view_sessions("c", {}, [make_session([(0, 0, 1), (0, 2, 3)], edges=edges)]))
    assert view["sheet"]["critical"] == [0, 0]
    assert "cycle" in view["views"][0]["critical"]


def test_rows_of_the_flamegraph_split_prompts_and_say_what_is_unknown(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (0, 2, 3)], {1: {"output_tokens": None}}, prompts=[[1], [1, 2, 3]])
    view = listed(view_sessions("c", {}, [session]))
    assert view["sheet"]["flame"] == {"cached": [0, 64], "prompt": [64, 192], "output": [1, None]}
    assert view["views"][0]["flame"] == "Answers of unknown length, drawn without one: 1."
