from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

Call = Callable[..., Any]


def test_json_has_sessions_agents_requests_and_edges(agentreel: Call, chain: Any) -> None:
    documents = json.loads(agentreel("graph", chain.corpus, "--json").out)
    for document in documents:
        assert {"session", "agents", "requests", "edges"} <= set(document)
        assert {frozenset(a) for a in document["agents"]} == {frozenset({"agent", "parent", "kind"})}
        keys = {"req", "agent", "purpose", "t_start_us", "t_end_us"}
        assert all(keys <= set(request) for request in document["requests"])
        for edge in document["edges"]:
            assert {"src", "dst", "kind", "delay_us", "anchor", "evidence", "cause", "retried_us"} == set(edge)


def test_a_nested_agent_is_spawned_by_and_joined_into_its_parent(agentreel: Call, chain: Any) -> None:
    documents = json.loads(agentreel("graph", chain.corpus, "--json").out)
    nested = [(d, a) for d in documents for a in d["agents"] if a["parent"] not in (None, 0)]
    assert nested
    for document, agent in nested:
        of = {r["req"]: r["agent"] for r in document["requests"]}
        into = [e for e in document["edges"] if e["kind"] == "spawn" and of[e["dst"]] == agent["agent"]]
        back = [e for e in document["edges"] if e["kind"] == "join" and of[e["src"]] == agent["agent"]]
        assert {of[e["src"]] for e in into} == {agent["parent"]}
        assert {of[e["dst"]] for e in back} == {agent["parent"]}


def test_text_lists_the_edges_that_are_more_than_sequence(agentreel: Call, chain: Any) -> None:
    said = agentreel("graph", chain.corpus)
    assert " spawn " in said.out
    assert " sequence " not in said.out
    assert re.search(r"gaps between steps: .*tool \d+ \(\d+\.\d{3} s\)", said.out)


def test_compat_prints_the_reference_s_streams_roots_first(agentreel: Call, chain: Any) -> None:
    documents = json.loads(agentreel("graph", chain.corpus, "--compat", "agentx", "--json").out)
    sessions = len(json.loads(agentreel("graph", chain.corpus, "--json").out))
    assert [document["root"] for document in documents] == [True] * sessions + [False] * (len(documents) - sessions)
    for document in documents:
        assert {"stream", "root", "branches", "turns"} <= set(document)
        assert all({"id", "children", "background"} <= set(branch) for branch in document["branches"])
        wanted = {"outer", "inner", "delay_ms", "spawns", "joins", "after"}
        assert all(wanted <= set(turn) for turn in document["turns"])
    started = {child for document in documents for branch in document["branches"] for child in branch["children"]}
    assert started == {document["stream"] for document in documents if not document["root"]}


def test_compat_as_text_says_who_waits(agentreel: Call, chain: Any) -> None:
    said = agentreel("graph", chain.corpus, "--compat", "agentx").out
    assert " waits" in said
    assert ": from turn " in said
