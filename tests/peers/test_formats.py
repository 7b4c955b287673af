"""What we write is what the formats' own consumers read: request by request, in tokens and milliseconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corpus.card import Card
from corpus.dataset.page import Facts, render_page
from corpus.dataset.shards import NATIVE, write_shards
from corpus.formats.bailian import write_bailian
from corpus.formats.dag_jsonl import write_dag_jsonl
from corpus.formats.mooncake import read_mooncake, write_mooncake
from corpus.formats.trace_rows import agent_names, answered_part, asked_tokens
from corpus.formats.weka import read_weka, write_weka
from corpus.graph import predecessors
from corpus.session import MooncakeDialect, Request, Session
from corpus.tables import read_corpus, write_corpus
from dagbuild.link import link_session
from tests.peers import agentx_peer, aiperf_peer

WEKA = agentx_peer.ROOT.parent / "shared" / "peer-bench" / "weka20"
PUBLIC = agentx_peer.ROOT.parent / "shared" / "traces"
SAMPLE = agentx_peer.ROOT / "samples" / "corpus"


@pytest.fixture(scope="session", params=["agentx-harness", "aiperf"])
def python(request: pytest.FixtureRequest) -> Path:
    return found(request.param)


@pytest.fixture(scope="session")
def inference_perf() -> Path:
    return found("inference-perf")


def found(peer: str) -> Path:
    python = aiperf_peer.python_of(peer)
    if python is None:
        pytest.skip(f"{peer} is not to be had here")
    return python


@pytest.fixture(scope="session", params=["recorded", "weka20", "public"])
def sessions(request: pytest.FixtureRequest) -> list[Session]:
    """A session recorded by this project, synthetic WEKA ones, and two public ones with sub-agents or without `out`."""
    if request.param == "recorded":
        return list(read_corpus(SAMPLE))
    files = [WEKA] if request.param == "weka20" else [PUBLIC / "weka" / f"trace_{n}.json" for n in ("0277", "0105")]
    if not all(file.exists() for file in files):
        pytest.skip(f"{request.param}: not beside this checkout")
    read = [session for file in files for session in read_weka(file)]
    return [link_session(session) for session in read]


def asked(sessions: list[Session]) -> Iterator[Request]:
    return (request for session in sessions for request in answered_part(session).requests)


def turns(told: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return (turn for conversation in told.values() for turn in conversation["turns"])


def test_mooncake_by_the_clock(python: Path, sessions: list[Session], tmp_path: Path) -> None:
    write_mooncake(tmp_path / "t.jsonl", sessions, "plain")
    told = aiperf_peer.ask(python, "mooncake", tmp_path / "t.jsonl")
    read = Counter((t["prompt"], t["answer"], t["timestamp"]) for t in turns(told))
    assert read == Counter((r.input_tokens, asked_tokens(r), r.t_start_us / 1000) for r in asked(sessions))


def test_public_mooncake_rows_survive_the_way_through_us(python: Path, tmp_path: Path) -> None:
    source = PUBLIC / "mooncake" / "synthetic_trace.jsonl"
    if not source.exists():
        pytest.skip("traces/mooncake: not beside this checkout")
    write_mooncake(tmp_path / "t.jsonl", read_mooncake(source), "plain")
    told, original = (aiperf_peer.ask(python, "mooncake", path) for path in (tmp_path / "t.jsonl", source))
    assert told == original


def test_mooncake_sessions(python: Path, sessions: list[Session], tmp_path: Path) -> None:
    write_mooncake(tmp_path / "t.jsonl", sessions, "sessions")
    told = aiperf_peer.ask(python, "mooncake", tmp_path / "t.jsonl")
    assert Counter((t["prompt"], t["answer"]) for t in turns(told)) == Counter(
        (r.input_tokens, asked_tokens(r)) for r in asked(sessions)
    )
    for conversation in told.values():
        first, *later = conversation["turns"]
        assert first["timestamp"] is not None
        assert all(turn["timestamp"] is None and turn["delay"] >= 0 for turn in later)


def accumulated(conversation: dict[str, Any]) -> Iterator[tuple[int, int]]:
    """(prompt, answer) of each turn as a consumer sends it that puts its own answers into the history."""
    said = 0
    for turn in conversation["turns"]:
        said += turn["prompt"]
        yield said, turn["answer"]
        said += turn["answer"]


@pytest.mark.parametrize("form", ["mooncake", "dag"])
def test_what_accumulates_reaches_the_recorded_prompts(
    python: Path, sessions: list[Session], tmp_path: Path, form: str
) -> None:
    path = tmp_path / "t.delta.jsonl"
    if form == "dag":
        write_dag_jsonl(path, sessions)
    else:
        write_mooncake(path, sessions, "delta")
    told = aiperf_peer.ask(python, form, path)
    reached = sorted((answer, prompt) for conv in told.values() for prompt, answer in accumulated(conv))
    recorded = sorted((asked_tokens(r), r.input_tokens) for r in asked(sessions))
    assert [answer for answer, _ in reached] == [answer for answer, _ in recorded]
    ahead = sum(prompt for _, prompt in reached) / sum(prompt for _, prompt in recorded) - 1
    assert 0 <= ahead < 0.001
    assert len(Counter(reached) & Counter(recorded)) > 0.9 * len(recorded) - 1


def test_dag_starts_and_joins_what_the_graph_says(python: Path, sessions: list[Session], tmp_path: Path) -> None:
    write_dag_jsonl(tmp_path / "t.jsonl", sessions)
    told = aiperf_peer.ask(python, "dag", tmp_path / "t.jsonl")
    children = [child for conv in told.values() for branch in conv["branches"] for child in branch["children"]]
    assert len(children) == len(set(children))
    roots = [name for name, conversation in told.items() if conversation["root"]]
    assert sorted(roots) == sorted(session.label for session in sessions)
    agents = sum(
        1 for s in sessions for a in s.agents[1:] if any(r.agent == a.agent for r in answered_part(s).requests)
    )
    assert len([child for child in children if "~" not in child and "::aside" not in child]) == agents
    waited = {name for turn in turns(told) for name in turn["joins"]}
    assert len(waited) <= len(children)
    assert waited or not agents


def test_bailian_turns(python: Path, sessions: list[Session], tmp_path: Path) -> None:
    write_bailian(tmp_path / "t.jsonl", sessions)
    told = aiperf_peer.ask(python, "bailian", tmp_path / "t.jsonl")
    read = Counter((t["prompt"], t["answer"], round(t["timestamp"])) for t in turns(told))
    assert read == Counter((r.input_tokens, asked_tokens(r), round(r.t_start_us / 1000)) for r in asked(sessions))
    assert len(told) == len(sessions)


def test_weka_lists_and_lengths(python: Path, sessions: list[Session], tmp_path: Path) -> None:
    write_weka(tmp_path / "out", sessions)
    told = aiperf_peer.ask(python, "weka-models", tmp_path / "out")
    for session in sessions:
        requests = answered_part(session).requests if session.source_format != "weka" else session.requests
        read = Counter((tokens, answer) for tokens, answer, _ in told[session.label])
        assert read == Counter((r.input_tokens, r.output_tokens) for r in requests)


def test_weka_streams_of_the_harness_hold_every_request(sessions: list[Session], tmp_path: Path) -> None:
    write_weka(tmp_path / "out", sessions)
    told = agentx_peer.ask(found("agentx-harness"), tmp_path / "out")
    assert len(told) == len(sessions)
    assert not any("refused" in streams for streams in told.values())
    if sessions[0].source_format != "weka":
        assert sum(len(s["turns"]) for streams in told.values() for s in streams) == len(list(asked(sessions)))


def test_the_config_weka_of_a_dataset_is_to_the_harness_what_files_are(sessions: list[Session], tmp_path: Path) -> None:
    python, dataset = found("agentx-harness"), tmp_path / "dataset"
    dataset.mkdir()
    numbered = [replace(session, session=number) for number, session in enumerate(sessions)]
    write_shards(dataset, numbered, "2026-11-29")
    card = write_corpus(dataset / NATIVE, numbered, Card("agentreel 0.1.0"))
    facts = Facts("org/name", "cc-by-4.0", "2026-11-29", (("what", "count"),), "", "")
    (dataset / "README.md").write_text(render_page(dataset, card, facts))
    write_weka(tmp_path / "files", sessions)
    read = agentx_peer.ask(python, dataset, "--dataset")
    assert rounded(read) == rounded(agentx_peer.ask(python, tmp_path / "files"))
    assert len(read) == len(sessions)


def rounded(value: Any) -> Any:
    """`datasets` parses decimal numbers with a parser that may miss the last bit."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return round(value, 6) if isinstance(value, float) else value


def test_weka_calls_of_inference_perf(inference_perf: Path, tmp_path: Path) -> None:
    """Of what we write ourselves; it takes no streaming requests of sub-agents, which public files have."""
    (session,) = read_corpus(SAMPLE)
    write_weka(tmp_path / "out", [session])
    calls = aiperf_peer.ask(inference_perf, "weka-calls", tmp_path / "out")[session.label]
    assert Counter((tokens, answer) for _, tokens, answer, _ in calls) == Counter(
        (r.input_tokens, r.output_tokens) for r in answered_part(session).requests
    )
    # It rebuilds prompts from blocks and may miss a part of one; a list it misread would be off by more.
    assert all(abs(tokens - rebuilt) <= session.block_size for _, tokens, _, rebuilt in calls)


def test_dynamo_sends_a_graph_s_requests_when_their_edges_allow(sessions: list[Session], tmp_path: Path) -> None:
    """What went out when, held against the graph that was written: after each answer or dispatch and its delay."""
    write_mooncake(tmp_path / "t.jsonl", sessions, "agentic")
    told = aiperf_peer.ask(found("dynamo"), "dynamo-agentic", tmp_path / "t.jsonl")
    assert len(told) == len(list(asked(sessions)))
    for session in map(answered_part, sessions):
        names = agent_names(session)
        sent = [told[f"{session.label}#{request.position}"] for request in session.requests]
        into = predecessors(len(session.requests), session.edges)
        for request, (play, name, prompt, answer, sent_ms, _), edges in zip(session.requests, sent, into, strict=True):
            assert (play, name) == (session.label, names[request.agent])
            assert (prompt, answer) == (request.input_tokens, asked_tokens(request))
            ready = [(sent[e.src][5] if e.anchor == "end" else sent[e.src][4]) + e.delay_us / 1000 for e in edges]
            assert sent_ms == pytest.approx(max(ready, default=request.t_start_us / 1000))


@pytest.mark.parametrize(("dialect", "form"), [("sessions", "dynamo-mooncake"), ("delta", "dynamo-mooncake-delta")])
def test_mooncake_sessions_as_dynamo_sends_them(tmp_path: Path, dialect: MooncakeDialect, form: str) -> None:
    sessions = list(read_corpus(SAMPLE))
    path = tmp_path / "t.delta.jsonl"
    write_mooncake(path, sessions, dialect)
    told = aiperf_peer.ask(found("dynamo"), form, path)
    read = {label: [tuple(turn) for turn in turns] for label, turns in told.items()}
    (ours,) = read_mooncake(path, dialect)
    expected: dict[str, list[tuple[int, int | None]]] = {}
    for request, name in ((r, agent_names(ours)[r.agent]) for r in sorted(ours.requests, key=lambda r: r.position)):
        expected.setdefault(name, []).append((request.input_tokens, request.output_tokens))
    assert read == expected
