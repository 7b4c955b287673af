"""What must hold whenever a real client was recorded, whatever it did."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from corpus.capture.reader import open_captures
from corpus.purpose import STEPS
from standin.scripts import SCRIPTS, Say
from tests.clients.chain import Recorded
from tests.clients.leaks import SHORTEST, contents, find_words
from tests.clients.scenarios import SCENARIOS, ends_of, last_words
from tests.clients.terminal import squeezed
from tests.clients.words import key_pieces, learned_words, recorded_texts, unpacked_segments

Record = Callable[[str], Recorded]
WEAK = {"timing", "prefix"}
ASIDE = {"prewarm", "probe"}  # generate nothing
every_scenario = pytest.mark.parametrize("name", SCENARIOS)


@every_scenario
def test_the_client_is_content_and_ends_by_itself(name: str, recorded: Record) -> None:
    run = recorded(name)
    assert [one.code for one in run.finished] == [0] * len(run.finished), run.finished[-1].err[-2000:]
    assert squeezed(last_words(run.scenario.script)) in squeezed(run.finished[0].out)
    assert run.had_to_be_killed == ()


@every_scenario
def test_exchanges_end_as_the_scenario_wants(name: str, recorded: Record) -> None:
    run = recorded(name)
    assert Counter(row["end"] for row in run.rows) == ends_of(run.scenario, len(run.rows))
    assert {row["purpose"] for row in run.rows} == set(run.scenario.purposes)
    answered = [row for row in run.rows if row["status"] == 200 and row["end"] == "complete"]
    answered = [row for row in answered if row["purpose"] not in ASIDE]
    assert all(row["usage"]["output_tokens"] for row in answered)


@every_scenario
def test_all_requests_belong_to_one_session_and_to_the_right_agents(name: str, recorded: Record) -> None:
    run = recorded(name)
    assert len({row["session_id"] for row in run.rows}) == 1
    assert run.rows[0]["session_id"]
    shape = r"a[0-9a-f]{16}" if run.scenario.client == "claude" else r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    rows = [row for row in run.rows if row["agent_kind"] != "side"]
    seen: dict[str | None, None] = dict.fromkeys([None, *(row["agent_id"] for row in rows)])
    agents = list(seen)
    assert len(agents) == len(run.scenario.parents)
    assert all(re.fullmatch(shape, agent) for agent in agents if agent)
    for row in rows:
        parent = run.scenario.parents[agents.index(row["agent_id"])]
        assert row["parent_agent_id"] == (agents[parent] if parent else None)
        assert row["agent_kind"] == (run.scenario.child_kind if row["agent_id"] else "main")


@every_scenario
def test_the_corpus_has_every_agent_under_its_parent(name: str, recorded: Record) -> None:
    run = recorded(name)
    assert run.built["counts"]["sessions"] == 1
    assert tuple(agent.parent for agent in run.session.agents) == run.scenario.parents
    assert run.session.harness == ("claude-code" if run.scenario.client == "claude" else "codex")
    assert run.session.harness_version
    assert "other" not in run.session.models
    for agent, turns in run.scenario.turns.items():
        assert len(run.requests_of(agent)) == turns


@every_scenario
def test_every_exchange_is_in_the_corpus_or_counted(name: str, recorded: Record) -> None:
    run = recorded(name)
    rejected = run.built["rejected"]
    assert len(run.session.requests) + sum(rejected.values()) == len(run.rows)
    handshakes = sum(row["purpose"] in ASIDE for row in run.rows)
    failed = sum(row["end"] != "complete" or row["status"] >= 400 for row in run.rows if row["purpose"] not in ASIDE)
    leaves = Counter(row["purpose"] for row in run.rows if row["purpose"] not in ASIDE and row["purpose"] not in STEPS)
    assert +Counter(rejected) == +Counter({"retried": failed, "not_generating": handshakes} | leaves)


@every_scenario
def test_every_sub_agent_is_spawned_and_joined_by_what_was_heard(name: str, recorded: Record) -> None:
    run = recorded(name)
    (graph,) = run.graphs
    owner = {request["req"]: request["agent"] for request in graph["requests"]}
    for agent, parent in enumerate(run.scenario.parents):
        if parent is None:
            continue
        spawns = [e for e in graph["edges"] if e["kind"] == "spawn" and owner[e["dst"]] == agent]
        joins = [e for e in graph["edges"] if e["kind"] == "join" and owner[e["src"]] == agent]
        first, last = run.requests_of(agent)[0], run.requests_of(agent)[-1]
        assert {owner[e["src"]] for e in spawns} == {owner[e["dst"]] for e in joins} == {parent}
        assert first in {e["dst"] for e in spawns}
        assert last in {e["src"] for e in joins}
        assert WEAK.isdisjoint(e["evidence"] for e in spawns + joins)


@every_scenario
def test_the_graph_has_no_other_edges_than_steps_spawns_and_joins(name: str, recorded: Record) -> None:
    run = recorded(name)
    (graph,) = run.graphs
    assert {e["kind"] for e in graph["edges"]} <= {"sequence", "spawn", "join"}
    assert WEAK.isdisjoint(e["evidence"] for e in graph["edges"])
    roots = {r.request for r in run.session.requests} - {e["dst"] for e in graph["edges"]}
    assert roots == {0}


@every_scenario
def test_requests_of_one_agent_share_all_of_their_earlier_prompt(name: str, recorded: Record) -> None:
    run = recorded(name)
    for agent in run.session.agents:
        for one, two in pairwise(run.requests_of(agent.agent)):
            if run.session.requests[one].purpose == "compaction":
                continue
            before, after = run.prompts[one], run.prompts[two]
            assert len(before) > 50
            assert after[: len(before)] == before
            assert run.session.requests[two].blocks.keep >= len(before)


@pytest.mark.parametrize("name", ["claude-fork", "codex-fork"])
def test_a_fork_begins_with_the_conversation_it_came_from(name: str, recorded: Record) -> None:
    run = recorded(name)
    (spawn,) = (edge for edge in run.session.edges if edge.kind == "spawn")
    before, forked = run.prompts[spawn.src], run.prompts[spawn.dst]
    assert forked[: len(before)] == before


@every_scenario
def test_the_session_is_drawn_with_all_its_agents(name: str, recorded: Record) -> None:
    run = recorded(name)
    lines = run.shown.splitlines()
    drawn = [line for line in lines if re.match(r"\s*(└ )?(main|(subagent|fork) \d+) ", line)]
    assert len(drawn) == len(run.scenario.parents)
    assert len(lines) >= len(run.session.requests)
    assert (run.outputs / "report.html").stat().st_size > 10_000


@every_scenario
def test_nothing_of_what_was_said_is_in_any_output(name: str, recorded: Record) -> None:
    run = recorded(name)
    texts = recorded_texts(run.captures)
    said = [
        action.text
        for steps in SCRIPTS.values()
        for step in steps
        for action in step.actions
        if isinstance(action, Say)
    ]
    heard = [word for word in (*run.planted.words, *said) if len(word) >= SHORTEST and word in texts]
    for needed in (run.planted.prompt, run.planted.content, run.planted.file_name, run.planted.folder):
        assert needed in heard, "a planted word that was never recorded proves nothing"
    assert any(word in said for word in heard)
    learned = learned_words(texts)
    assert len(learned) > 20
    assert find_words([*heard, *learned], contents(run.outputs)) == []


@every_scenario
def test_the_key_is_nowhere(name: str, recorded: Record) -> None:
    run = recorded(name)
    texts = recorded_texts(run.captures)
    sent = ("x-api-key", run.key) if run.scenario.client == "claude" else ("authorization", f"Bearer {run.key}")
    assert re.search(rf"'{sent[0]}', '<{len(sent[1])} bytes>'", texts, re.IGNORECASE), "it was sent, and only counted"
    segments = list(unpacked_segments(run.captures))
    assert segments
    assert all(data for _, data in segments)
    assert len(texts.encode()) > sum(row["request_bytes"] for row in run.rows), "whole bodies, put together again"
    places = [*segments, *contents(run.captures), *contents(run.logs), *contents(run.outputs)]
    places.append(("everything recorded", texts.encode()))
    assert find_words(key_pieces(run.key), places) == []


@every_scenario
def test_the_captures_are_whole_and_private(name: str, recorded: Record) -> None:
    run = recorded(name)
    store = open_captures(run.captures)
    assert all(exchange.response for exchange in store.exchanges())
    assert store.damage == []
    for path in (run.captures, *run.captures.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path
