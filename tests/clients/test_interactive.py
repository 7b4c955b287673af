"""What clients do only when a person sits at a terminal: titles, side questions, memories, a compaction by command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from corpus.capture.reader import open_captures
from corpus.exchange import Exchange
from tests.clients.chain import Recorded
from tests.clients.gate import closed_gate
from tests.clients.person import someone
from tests.clients.provider import claude_answer, heard, play, say
from tests.clients.scenarios import SCENARIOS, TITLED, Line
from tests.proxy.loopback import Upstream

Record = Callable[[str], Recorded]
CODEX = [name for name, one in SCENARIOS.items() if one.typed and one.client == "codex"]
CLASS = "x-claude-code-request-class"


def exchanges(run: Recorded) -> list[Exchange]:
    return list(open_captures(run.captures).exchanges())


def turn_metadata(exchange: Exchange) -> dict[str, Any]:
    told: dict[str, Any] = orjson.loads(orjson.loads(exchange.request.body)["client_metadata"]["x-codex-turn-metadata"])
    return told


def test_claude_codes_purposes_are_told_without_the_class_headers(recorded: Record) -> None:
    run = recorded("claude-terminal")
    assert not any(CLASS in dict(exchange.request.headers) for exchange in exchanges(run))
    assert [row["purpose"] for row in run.rows] == (
        ["title", *["turn"] * 6, "side_question", "compaction", *["turn"] * 3]
    )
    assert not any(row["agent_id"] or row["session_guessed"] for row in run.rows)


def test_claude_codes_purposes_are_told_with_the_class_headers(programs: dict[str, Path], tmp_path: Path) -> None:
    provider = Upstream()
    play(provider, say(claude_answer("Since yesterday everything has been as always.")))
    with closed_gate() as gate, heard(provider, tmp_path) as recording:
        hints = TITLED | {"CLAUDE_CODE_GATEWAY_HINT_HEADERS": "1"}
        one = someone("claude", programs, tmp_path, recording.urls, gate.url, **hints)
        lines = (Line("How are you?", "been as always"), Line("/btw really?", "been as always", opens_view=True))
        assert one.talk(lines).code == 0
        asked = [one.request for one in recording.exchanges() if one.request.method == "POST"]
    provider.close()
    classes = [(request.identity.purpose, dict(request.headers)[CLASS]) for request in asked]
    assert sorted(classes) == [("side_question", "auxiliary"), ("title", "auxiliary"), ("turn", "main")]


def test_a_side_question_sees_the_conversation_and_leaves_no_trace_in_it(recorded: Record) -> None:
    run = recorded("claude-terminal")
    at = [row["purpose"] for row in run.rows].index("side_question")
    sent = [orjson.loads(exchange.request.body)["messages"] for exchange in exchanges(run)]
    asked, before = sent[at], sent[at - 1]
    assert [one["role"] for one in asked[: len(before)]] == [one["role"] for one in before]
    assert b"why these files?" in orjson.dumps(asked[-1])
    assert not any(b"why these files?" in orjson.dumps(messages) for messages in sent[at + 1 :])


def test_a_compaction_by_command_is_a_step_of_its_stream(recorded: Record) -> None:
    for name, before in (("claude-terminal", 6), ("codex-terminal", 3)):
        purposes = [request.purpose for request in recorded(name).session.requests]
        assert purposes == ["turn"] * before + ["compaction"] + ["turn"] * 3


@pytest.mark.parametrize("name", CODEX)
def test_codex_title_threads_name_no_session_but_their_own_and_are_attached_by_guess(
    name: str, recorded: Record
) -> None:
    run = recorded(name)
    (title,) = (one for one in exchanges(run) if one.request.identity.purpose == "title")
    told, who = turn_metadata(title), title.request.identity
    assert (told["thread_source"], told["session_id"], "parent_thread_id" in told) == (
        *("thread_title", told["thread_id"]),
        False,
    )
    assert told["session_id"] != who.session_id == run.rows[0]["session_id"]
    assert (who.agent_id, who.agent_kind, who.session_guessed) == (told["thread_id"], "side", True)
    assert run.planted.prompt.encode() in title.request.body, "the one sign that the guess was right"


def test_codex_memory_threads_are_attached_by_guess(recorded: Record) -> None:
    run = recorded("codex-websocket-terminal")
    (memory,) = (one for one in exchanges(run) if one.request.identity.purpose == "memory")
    told, who = turn_metadata(memory), memory.request.identity
    assert (told["thread_source"], "parent_thread_id" in told) == ("memory_consolidation", False)
    assert told["session_id"] not in (told["thread_id"], who.session_id)
    assert who.session_id == run.rows[0]["session_id"]
    assert (who.agent_id, who.agent_kind, who.session_guessed) == (told["thread_id"], "side", True)


@pytest.mark.parametrize("name", CODEX)
def test_what_is_guessed_is_marked_and_nothing_else(name: str, recorded: Record) -> None:
    run = recorded(name)
    guessed = {row["agent_id"] for row in run.rows if row["purpose"] in {"title", "memory"}}
    assert {row["agent_id"] for row in run.rows if row["session_guessed"]} == guessed
