"""What real Claude Code traffic must look like through this room: every body reads, history is a stable prefix."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import orjson
import pytest

from tests.wire.conftest import Recorded
from wire.answer import read_answer
from wire.api import Api
from wire.facts import peek_request
from wire.prompt import Part, Prompt, read_prompt
from wire.sse import format_sse
from wire.usage import normalise_usage

API: Api = "anthropic-messages"
# Scenarios whose order of conversations is not the order in the file, or whose history is rewritten; looked at below.
COMPACTING = "base_resume_fork_session_compact"


def prompt(recorded: Recorded) -> Prompt:
    return read_prompt(API, recorded.raw)


def history(recorded: Recorded) -> list[Part]:
    """What must stay: all but the billing line and the tools loaded on demand."""
    return [part for part in prompt(recorded).parts if part.kind != "billing" and not part.deferred]


def is_turn(recorded: Recorded) -> bool:
    """An agent's turn: auxiliary requests and agent hooks manage no context; a refused variant of a turn is none."""
    return "context_management" in recorded.body and recorded.status != 400


def conversations(exchanges: list[Recorded]) -> list[list[Recorded]]:
    grouped: dict[tuple[str, str, str | None], list[Recorded]] = defaultdict(list)
    for recorded in exchanges:
        if is_turn(recorded):
            session = recorded.headers["x-claude-code-session-id"]
            grouped[recorded.scenario, session, recorded.headers.get("x-claude-code-agent-id")].append(recorded)
    return list(grouped.values())


def test_every_request_reads_with_its_billing_line_apart(claude_code: list[Recorded]) -> None:
    assert len(claude_code) == 187
    for recorded in claude_code:
        parts = prompt(recorded).parts
        assert [part.kind for part in parts].count("billing") == 1
        assert not any("cache_control" in part.text for part in parts)
        assert sum(part.kind == "tools" for part in parts) == len(recorded.body.get("tools", ()))
        assert max(part.message for part in parts) == len(recorded.body["messages"]) - 1


def test_earlier_parts_are_a_prefix_of_the_next_request(claude_code: list[Recorded]) -> None:
    compared = 0
    for turns in conversations(claude_code):
        if turns[0].scenario == COMPACTING:
            continue
        for earlier, later in pairwise(turns):
            before = history(earlier)
            assert history(later)[: len(before)] == before, earlier.scenario
            compared += 1
    assert compared > 80


def test_resumed_and_forked_sessions_share_their_prefix_across_session_ids(claude_code: list[Recorded]) -> None:
    turns = sorted(
        (recorded for recorded in claude_code if recorded.scenario == COMPACTING and is_turn(recorded)),
        key=lambda recorded: len(recorded.body["messages"]),
    )
    again = next(turn for turn in turns if "Again hello" in str(turn.body["messages"][-1]))
    branch = next(turn for turn in turns if "Branch hello" in str(turn.body["messages"][-1]))
    assert again.headers["x-claude-code-session-id"] != branch.headers["x-claude-code-session-id"]
    assert history(branch)[: len(history(again))] == history(again)


def test_compaction_extends_the_history_it_sums_up_then_replaces_it(claude_code: list[Recorded]) -> None:
    turns = [recorded for recorded in claude_code if recorded.scenario == COMPACTING]
    branch = next(turn for turn in turns if "Branch hello" in str(turn.body["messages"][-1]))
    session = branch.headers["x-claude-code-session-id"]
    longest = max(len(turn.body["messages"]) for turn in turns)
    summing = [turn for turn in turns if len(turn.body["messages"]) == longest]
    assert {turn.headers["x-claude-code-session-id"] for turn in summing} == {session}
    for turn in summing:
        assert history(turn)[: len(history(branch))] == history(branch)


def test_first_party_billing_line_changes_while_the_history_stays(claude_code: list[Recorded]) -> None:
    lines = [
        {part.text for turn in turns for part in prompt(turn).parts if part.kind == "billing"}
        for turns in conversations(claude_code)
        if turns[0].scenario == "proxy_subagent_nested" and len(turns) > 1
    ]
    assert lines
    assert all(len(texts) > 1 for texts in lines)


def test_tool_results_match_the_calls_of_their_history(claude_code: list[Recorded]) -> None:
    results = 0
    for recorded in claude_code:
        parts = prompt(recorded).parts
        called = {part.call_id for part in parts if part.kind == "tool_call"}
        for part in parts:
            if part.kind == "tool_result":
                assert part.call_id in called
                results += 1
    assert results > 100


def test_images_and_documents_are_identities_not_text(claude_code: list[Recorded]) -> None:
    attached = [
        part for recorded in claude_code for part in prompt(recorded).parts if part.kind in {"image", "document"}
    ]
    assert attached
    assert all(part.text == "" and part.opaque_bytes > 0 and part.digest and part.call_id for part in attached)


def test_recorded_events_give_the_recorded_usage_and_blocks(claude_code: list[Recorded]) -> None:
    whole = 0
    for recorded in claude_code:
        if not recorded.events:
            continue
        body = b"".join(format_sse(event["type"], orjson.dumps(event)) for event in recorded.events)
        answer = read_answer(API, body, "text/event-stream")
        kinds = [event["type"] for event in recorded.events]
        assert answer.complete is ("message_stop" in kinds)
        assert (answer.error is not None) is ("error" in kinds)
        if answer.complete:
            last = [event for event in recorded.events if event["type"] == "message_delta"][-1]
            assert answer.usage == normalise_usage(API, last["usage"])
            assert answer.stop == last["delta"]["stop_reason"]
            whole += 1
        started = [event["content_block"] for event in recorded.events if event["type"] == "content_block_start"]
        calls = [(block["id"], block["name"]) for block in started if block["type"] == "tool_use"]
        assert [(part.call_id, part.name) for part in answer.parts if part.kind == "tool_call"] == calls
    assert whole > 130


def test_json_answers_give_usage_or_error(claude_code: list[Recorded]) -> None:
    answers = [recorded for recorded in claude_code if recorded.answer is not None]
    assert answers
    for recorded in answers:
        assert recorded.answer is not None
        answer = read_answer(API, orjson.dumps(recorded.answer), "application/json")
        if recorded.status == 200:
            assert (answer.complete, answer.error) == (True, None)
            assert answer.usage == normalise_usage(API, recorded.answer["usage"])
        else:
            assert answer.error == recorded.answer["error"]["type"]


def test_an_answer_comes_back_as_the_next_request_s_history(claude_code: list[Recorded]) -> None:
    matched = 0
    for turns in conversations(claude_code):
        for earlier, later in pairwise(turns):
            body = b"".join(format_sse(event["type"], orjson.dumps(event)) for event in earlier.events)
            said = [
                (part.kind, part.text)
                for part in read_answer(API, body, "text/event-stream").parts
                if part.kind in {"assistant", "thinking"}
            ]
            kept = {(part.kind, part.text) for part in history(later)}
            matched += bool(said) and all(words in kept for words in said)
    assert matched > 10


@pytest.mark.parametrize(
    ("wanted", "facts"),
    [
        ("title", {"has_tools": False, "json_schema_output": True, "stream": True}),
        ("search", {"only_server_tools": True, "tool_names": ("web_search",)}),
        ("classifier", {"stream": None, "thinking_disabled": True, "stop_sequences": ("</block>",), "max_tokens": 64}),
    ],
)
def test_auxiliary_requests_are_told_by_their_facts(
    claude_code: list[Recorded], wanted: str, facts: dict[str, object]
) -> None:
    seen = [peek_request(API, recorded.raw) for recorded in claude_code if not is_turn(recorded)]
    assert any(all(getattr(fact, name) == value for name, value in facts.items()) for fact in seen), wanted
    turns = [peek_request(API, recorded.raw) for recorded in claude_code if is_turn(recorded)]
    assert not any(all(getattr(fact, name) == value for name, value in facts.items()) for fact in turns)


def test_session_of_the_metadata_is_that_of_the_header(claude_code: list[Recorded]) -> None:
    for recorded in claude_code:
        user_id = peek_request(API, recorded.raw).metadata_user_id
        assert user_id is not None
        assert orjson.loads(user_id)["session_id"] == recorded.headers["x-claude-code-session-id"]
