"""What only Codex does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from corpus.capture.reader import open_captures
from tests.clients.chain import Recorded
from tests.clients.scenarios import SCENARIOS

Record = Callable[[str], Recorded]


CODEX = {name: one for name, one in SCENARIOS.items() if one.client == "codex"}


@pytest.mark.parametrize("name", [name for name, one in CODEX.items() if one.websocket])
def test_every_turn_over_a_websocket_is_an_exchange_that_goes_on_from_another(name: str, recorded: Record) -> None:
    run = recorded(name)
    assert {row["api"] for row in run.rows} == {"openai-responses-ws"}
    prewarms = [row for row in run.rows if row["purpose"] == "prewarm"]
    assert len({row["agent_id"] for row in prewarms}) == len(prewarms) == len({row["agent_id"] for row in run.rows})
    linked = sum(exchange.request.previous is not None for exchange in open_captures(run.captures).exchanges())
    assert linked >= len(run.scenario.parents)
    assert {request.api for request in run.session.requests} == {"openai-responses-ws"}


def test_a_session_over_a_websocket_has_the_prompts_of_one_over_http(recorded: Record) -> None:
    posted, told = (recorded(name).session for name in ("codex-compaction", "codex-websocket-compaction"))
    assert [one.purpose for one in told.requests] == [one.purpose for one in posted.requests]
    sizes = [(one.input_tokens, two.input_tokens) for one, two in zip(told.requests, posted.requests, strict=True)]
    assert all(abs(one - two) < 200 for one, two in sizes)  # paths and made-up texts differ


@pytest.mark.parametrize("name", [name for name, one in CODEX.items() if not one.websocket])
def test_every_thread_tries_a_websocket_once_and_falls_back_to_post(name: str, recorded: Record) -> None:
    run = recorded(name)
    tried = [row for row in run.rows if row["api"] == "openai-responses-ws"]
    assert {row["status"] for row in tried} == {426}
    assert len({row["agent_id"] for row in tried}) == len(tried) == len({row["agent_id"] for row in run.rows})
    assert all(row["api"] == "openai-responses" for row in run.rows if row not in tried)


def test_the_tools_really_ran(recorded: Record) -> None:
    run = recorded("codex-loop")
    assert (run.repository / "NOTES.md").read_text().startswith("state: closed\n")
    assert [(call.emit, call.result) for call in run.session.tool_calls] == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_a_team_is_spawned_by_call_and_joined_by_message(recorded: Record) -> None:
    run = recorded("codex-team")
    joins = [edge for edge in run.session.edges if edge.kind == "join"]
    spawns = [edge for edge in run.session.edges if edge.kind == "spawn"]
    assert [edge.evidence for edge in joins] == ["agent_message"] * 3
    assert [edge.evidence for edge in spawns] == ["tool_result", "tool_result", "id"]  # the last: a second task
    assert [edge.src for edge in spawns[:2]] == [0, 0]


def test_a_compaction_is_a_step_of_its_stream(recorded: Record) -> None:
    run = recorded("codex-compaction")
    assert [request.purpose for request in run.session.requests] == ["turn", "turn", "compaction", "turn", "turn"]
    assert [(edge.src, edge.dst, edge.kind, edge.evidence) for edge in run.session.edges] == [
        (number, number + 1, "sequence", "id") for number in range(4)
    ]
    tokens = [request.input_tokens for request in run.session.requests]
    assert tokens[2] > tokens[3] + 5000
    context = run.prompts[0]
    kept = next(
        (n for n, (one, two) in enumerate(zip(context, run.prompts[3], strict=False)) if one != two), len(context)
    )
    assert kept > 0.9 * len(context)  # the rebuilt context begins with the same texts


def test_retries_over_a_websocket_are_told_from_new_turns(recorded: Record) -> None:
    run = recorded("codex-websocket-faults")
    failed = [row for row in run.rows if row["end"] != "complete"]
    assert [row["status"] for row in failed] == [429, 529, 200, 200, None]
    assert {row["retry_of"] for row in run.rows if row["retry_of"]} == {row["exchange_id"] for row in failed}


def test_retries_are_told_from_new_requests(recorded: Record) -> None:
    run = recorded("codex-faults")
    failed = [row for row in run.rows if row["method"] == "POST" and (row["end"] != "complete" or row["status"] >= 400)]
    assert [row["status"] for row in failed] == [429, 529, 200, 200, None]
    assert {row["retry_of"] for row in run.rows if row["retry_of"]} == {row["exchange_id"] for row in failed}
