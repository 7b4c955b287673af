"""Golden files: the committed sample of each stage, carried through the next one, gives the committed next sample."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentreel.building import BuildSettings, build_corpus
from agentreel.source import read_source
from agentreel.workers import InThisProcess
from corpus.capture.reader import open_captures
from corpus.formats.weka import session_to_weka
from corpus.run import read_run
from corpus.session import Session
from corpus.tables import read_card, read_corpus
from dagbuild.document import graph_document
from replay.fidelity import judge

SAMPLES = Path(__file__).resolve().parents[1] / "samples"


@pytest.fixture(scope="module")
def session() -> Session:
    (only,) = read_corpus(SAMPLES / "corpus")
    return only


def test_the_captures_hold_one_whole_session() -> None:
    captures = open_captures(SAMPLES / "captures")
    exchanges = list(captures.exchanges())
    assert captures.damage == []
    assert {exchange.end for exchange in exchanges} == {"complete"}
    assert [exchange.request.identity.purpose for exchange in exchanges].count("turn") == 11


def test_the_captures_build_the_corpus(tmp_path: Path) -> None:
    captures = open_captures(SAMPLES / "captures")
    settings = BuildSettings("deepseek-v4", block_size=64, max_input_tokens=990_000, keep_aux=False)
    written = read_card(SAMPLES / "corpus")
    card, _ = build_corpus(captures, tmp_path / "corpus", settings, InThisProcess(), created_by=written.created_by)
    assert card == written
    assert list(read_corpus(tmp_path / "corpus")) == list(read_corpus(SAMPLES / "corpus"))


def test_the_corpus_gives_the_graph(session: Session) -> None:
    assert [graph_document(session)] == json.loads((SAMPLES / "graph.json").read_bytes())


def test_the_corpus_gives_the_weka_trace(session: Session) -> None:
    assert session_to_weka(session) == json.loads((SAMPLES / "weka.json").read_bytes())


def test_the_weka_trace_has_the_streams_of_the_corpus_with_edges_by_time(session: Session) -> None:
    (again,) = read_source(str(SAMPLES / "weka.json"))
    assert len(again.agents) == len(session.agents)
    assert [r.input_tokens // 64 for r in again.requests] == [r.input_tokens // 64 for r in session.requests]
    assert {e.evidence for e in again.edges if e.kind == "join"} == {"timing"}


def test_the_run_replayed_every_request_and_its_summary_follows_from_its_rows(session: Session) -> None:
    run = read_run(SAMPLES / "run")
    assert sorted(row.request for row in run.requests) == [request.request for request in session.requests]
    fidelity = judge(run.requests)
    assert fidelity.edges == run.summary["edges"] == len(session.edges)
    assert fidelity.edge_violations == run.summary["edge_violations"] == 0
    assert {*fidelity.token_errors} == {run.summary["token_error"]["max"]} == {0}
