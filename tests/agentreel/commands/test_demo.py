from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from corpus.capture.reader import open_captures
from corpus.run import read_run
from corpus.tables import read_corpus


def test_demo_sends_real_traffic_of_both_clients_through_the_recorder(chain: Any) -> None:
    exchanges = list(open_captures(chain.captures).exchanges(bodies=False))
    assert {e.request.api for e in exchanges} >= {"anthropic-messages", "openai-responses"}
    assert {e.request.identity.harness for e in exchanges} >= {"claude-code", "codex"}
    assert any(e.request.identity.agent_id for e in exchanges)
    assert {e.end for e in exchanges} >= {"complete", "upstream_reset", "sse_error"}  # one scenario has faults


def test_demo_builds_a_corpus_in_which_every_sub_agent_is_spawned_and_joined_for_a_known_reason(chain: Any) -> None:
    for session in read_corpus(chain.corpus):
        for agent in session.agents[1:]:
            mine = {r.request for r in session.requests if r.agent == agent.agent}
            spawns = [e for e in session.edges if e.kind == "spawn" and e.dst in mine]
            joins = [e for e in session.edges if e.kind == "join" and e.src in mine]
            assert spawns
            assert joins
            assert {e.evidence for e in (*spawns, *joins)}.isdisjoint({"timing", "prefix"})


def test_demo_replays_every_request_of_the_corpus_exactly(chain: Any) -> None:
    run = read_run(chain.run)
    requests = sum(len(session.requests) for session in read_corpus(chain.corpus))
    assert run.summary["requests"] == requests
    assert run.summary["errors"] == 0
    assert run.summary["token_error"]["max"] == 0
    assert run.summary["edge_violations"] == 0
    assert run.summary["edges"] > 0


def test_demo_ends_by_printing_the_path_of_the_report(chain: Any) -> None:
    page = Path(chain.said.strip().splitlines()[-1])
    assert page == (chain.folder / "report.html").resolve()
    assert "<html" in page.read_text()


def test_demo_refuses_a_folder_that_is_not_its_own(agentreel: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    said = agentreel("demo", "--out", tmp_path)
    assert said.code == 1
    assert said.err.startswith(f"error: {tmp_path}: exists and is not an earlier demo's folder")
    assert (tmp_path / "precious").read_text() == "mine"
