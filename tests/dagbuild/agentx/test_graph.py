from __future__ import annotations

import json
from pathlib import Path

import pytest

from corpus.errors import InputError
from corpus.formats.weka import read_weka
from dagbuild.agentx.graph import agentx_documents, build_graph
from tests.dagbuild.agentx.traces import EDGE_CASES, call, group, ids, session, trace

BENCH = Path(__file__).resolve().parents[3].parent / "shared" / "peer-bench"


@pytest.mark.skipif(not BENCH.is_dir(), reason="the reference's own graph is not on this machine")
def test_twenty_sessions_give_the_reference_s_graph() -> None:
    expected = {one["stream"]: one for one in json.loads((BENCH / "weka20_peer_dag.json").read_text())}
    documents = [one for found in read_weka(BENCH / "weka20") for one in agentx_documents(found)]
    assert {one["stream"] for one in documents} == set(expected)
    assert (len(documents), sum(len(one["turns"]) for one in documents)) == (52, 512)
    for document in documents:
        theirs = expected[document["stream"]]
        assert {key: theirs[key] for key in document if key != "turns"} == {
            key: value for key, value in document.items() if key != "turns"
        }
        assert [{key: turn[key] for key in document["turns"][0]} for turn in theirs["turns"]] == document["turns"]


def test_one_spawn_two_branches() -> None:
    root, *children = agentx_documents(session(EDGE_CASES["two_branches_off_one_turn"]))
    name = root["stream"]
    assert [branch["id"] for branch in root["branches"]] == [f"{name}:spawn:a1", f"{name}:spawn:a3"]
    assert [turn["joins"] for turn in root["turns"]] == [[], [f"{name}:spawn:a1"], [f"{name}:spawn:a3"]]
    assert [child["stream"] for child in children] == [f"{name}::sa:a{n}" for n in (1, 2, 3, 4)]


def test_delays_count_from_the_end_of_the_turn_before_and_are_never_negative() -> None:
    root = agentx_documents(session(EDGE_CASES["no_duration"]))[0]
    assert [turn["delay_ms"] for turn in root["turns"]] == [None, 5000, 1000]
    overlapping = trace("t", call(0, 5, ids(3)), call(2, 1, []))
    assert [turn["delay_ms"] for turn in agentx_documents(session(overlapping))[0]["turns"]] == [None, 0]


def test_chains_inside_a_sub_agent_share_its_scope_and_branch() -> None:
    root, *children = agentx_documents(session(EDGE_CASES["chains_inside_a_group"]))
    assert [child["stream"].rpartition("sa:")[2] for child in children] == ["many", "many:fa:000", "many:aux:001"]
    assert {child["scope"] for child in children} == {f"{root['stream']}::sa:many"}
    assert root["branches"][0]["children"] == [child["stream"] for child in children]


def test_a_sub_agent_before_every_main_turn_is_dropped() -> None:
    assert len(build_graph(session(EDGE_CASES["group_before_main"])).streams) == 1


def test_two_sub_agents_of_one_name_are_refused() -> None:
    twice = trace("t", call(0, 1, ids(3)), group("a", 2, 3), group("a", 4, 5))
    with pytest.raises(InputError, match="two sub-agents are called 'a'"):
        build_graph(session(twice))


def test_a_join_before_its_spawn_is_refused() -> None:
    crossed = trace(
        "t", call(9, 1, ids(30)), group("a", 2, 3), call(5, 1, ids(20)), call(6, 1, ids((900, 400)), out=5000)
    )
    with pytest.raises(InputError, match="bring the entries of the file into order"):
        build_graph(session(crossed))
