from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest

from anonymize.policy import (
    ALLOWED,
    LeakError,
    check_strings,
    public_harness,
    public_model,
    public_stop,
    tool_class,
    version_numbers,
)
from corpus.exchange import Exchange, Identity
from corpus.session import Agent, Session
from tests.anonymize.exchanges import (
    anonymize,
    assistant,
    claude_answer,
    claude_body,
    codex_answer,
    exchange,
    session_of,
    tool_result,
    tool_use,
    user,
)


@pytest.fixture
def session() -> Session:
    return session_of([exchange(1, claude_body([user("hi")]), claude_answer({"type": "text", "text": "hello"}))])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Bash", "shell"),
        ("exec_command", "shell"),
        ("apply_patch", "edit"),
        ("Agent", "agent"),
        ("collaboration.spawn_agent", "agent"),
        ("mcp__acme__deploy", "mcp"),
        ("WebFetch", "web"),
        ("AcmeSecretTool", "other"),
        (None, "other"),
    ],
)
def test_tools_become_classes(name: str | None, expected: str) -> None:
    assert tool_class(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "claude-opus-5-5",
        "claude-haiku-4-5-20251001",
        "claude-3-5-sonnet-20241022",
        "claude-sonnet-5[1m]",
        "gpt-6.2-sol",
        "gpt-5.5",
        "gpt-5.1-codex-max",
        "gpt-4o-mini",
        "gpt-oss-120b",
        "o3",
        "o4-mini",
        "deepseek-v3.2",
        "qwen3-coder-480b-a35b-instruct",
        "glm-4.6",
        "kimi-k2",
        "gemini-3-pro-preview",
    ],
)
def test_public_model_names_stay(name: str) -> None:
    assert public_model(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "acme-coder",
        "gpt-4o:ft-acme:2025",
        "claude-opus-acme",
        "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/x",
        "deployments/claude-opus-5-5",
        "gpt-5.5\nsecret",
        "claude-" + "1-" * 60 + "1",
        "gpt-" + "1234-" * 4 + "5678-9012",
        "",
        None,
    ],
)
def test_any_other_model_name_is_other(name: str | None) -> None:
    assert public_model(name) == "other"


def test_unknown_words_of_the_client_become_other() -> None:
    assert (public_harness("codex"), public_harness("acme-agent"), public_harness(None)) == ("codex", "other", None)
    assert (public_stop("tool_use"), public_stop("acme_stop"), public_stop(None)) == ("tool_use", "other", "")


def test_versions_become_numbers() -> None:
    assert version_numbers("2.1.328 (external, cli)") == (2, 1, 328)
    assert version_numbers("0.171.0-acme.7") == (0, 171, 0)
    assert version_numbers("acme") == version_numbers(None) == ()


def test_the_census_counts_strings_by_field(session: Session) -> None:
    seen = check_strings(session)
    assert seen["Request.stop"] == len(session.requests)
    assert seen["Session.models"] == 1


def test_every_string_off_the_list_is_refused_and_not_repeated(session: Session) -> None:
    request = session.requests[0]
    assert request.segments is not None
    secret = "secret-4711"
    leaky = [
        replace(session, harness=secret),
        replace(session, models=(secret,)),
        replace(session, source=secret),
        replace(session, agents=(Agent(0, None, "main", source=secret),)),
        replace(session, requests=(replace(request, stop=secret),)),
        replace(session, requests=(replace(request, input_kinds=(secret,)),)),
        replace(session, requests=(replace(request, segments=replace(request.segments, roles=(secret,))),)),  # type: ignore[arg-type]  # what a bug would do
        replace(session, harness_version=(1, secret)),  # type: ignore[arg-type]  # what a bug would do
        replace(session, harness_version={secret: 1}),  # type: ignore[arg-type]  # what a bug would do
        replace(session, harness_version=(b"secret",)),  # type: ignore[arg-type]  # what a bug would do
    ]
    for one in leaky:
        with pytest.raises(LeakError) as raised:
            check_strings(one)
        assert secret not in str(raised.value)


def test_no_word_of_the_allow_list_is_longer_than_32_characters() -> None:
    assert all(len(word) <= 32 for words in ALLOWED.values() for word in words)


_WORDS = re.compile(r"[0-9a-f]{16,}|[A-Za-z0-9+/]{24,}|@|://|[/\\]\w", re.IGNORECASE)


@pytest.fixture
def plant() -> Callable[[], str]:
    """A fresh canary at every call."""
    numbers = count()
    return lambda: f"CANARY{next(numbers)}"


def planted_identity(plant: Callable[[], str], agent_id: str | None, parent: str | None) -> Identity:
    return Identity(
        session_id=plant(),
        agent_id=agent_id,
        parent_agent_id=parent,
        agent_name=plant(),
        agent_kind="subagent" if agent_id else "main",
        purpose="turn",
        turn_id=plant(),
        harness=plant(),
        harness_version=plant(),
        model=plant(),
    )


def planted(one: Exchange, plant: Callable[[], str], agent_id: str | None, parent: str | None) -> Exchange:
    """The exchange with a canary in every field of its records that can hold one."""
    assert one.response is not None
    identity = planted_identity(plant, agent_id, parent)
    headers = ((plant(), plant()), ("Content-Type", "text/event-stream"))
    request = replace(
        one.request, path=f"/{plant()}/v1/messages?{plant()}", upstream=plant(), headers=headers, identity=identity
    )
    return Exchange(request, replace(one.response, headers=headers, error=plant()))


def assert_no_canary(exchanges: list[Exchange]) -> None:
    assert b"CANARY" in exchanges[0].request.body
    done = anonymize(exchanges)
    assert done.session is not None
    assert len(done.session.requests) == len(exchanges)
    for text in (repr(done.session), repr(dict(done.rejected))):
        assert "canary" not in text.lower()
        assert not _WORDS.search(text)


def test_no_canary_of_a_claude_exchange_comes_out(plant: Callable[[], str]) -> None:
    call = {**tool_use(plant(), plant()), "input": {plant(): plant()}}
    image = {"type": "image", "source": {"type": "base64", "media_type": plant(), "data": plant()}}
    document = {"type": "document", "title": plant(), "context": plant(), "source": {"type": "url", "url": plant()}}
    thought = {"type": "thinking", "thinking": plant(), "signature": plant()}
    result = tool_result(
        call["id"], [{"type": "text", "text": f"agentId: {plant()}"}, image, {"type": plant(), "x": plant()}]
    )
    note = f"<task-notification><task-id>{plant()}</task-id><tool-use-id>{call['id']}</tool-use-id></task-notification>"
    body = {
        "model": plant(),
        "system": [
            {"type": "text", "text": f"x-anthropic-billing-header: {plant()}"},
            {"type": "text", "text": plant()},
        ],
        "tools": [{"name": plant(), "description": plant(), "input_schema": {"properties": {plant(): plant()}}}],
        "messages": [
            user(plant(), image, document),
            assistant(thought, plant(), call),
            user(result, f"<system-reminder>{plant()}{note}</system-reminder>", {"type": plant(), plant(): plant()}),
        ],
        "metadata": {"user_id": plant()},
        plant(): plant(),
    }
    answer = claude_answer({"type": "text", "text": plant()}, call, stop=plant())
    answer[0]["message"].update(id=plant(), model=plant())
    made = exchange(1, body, answer)
    again = exchange(3, body, answer)
    assert_no_canary([planted(made, plant, None, None), planted(again, plant, plant(), plant())])


def test_no_canary_of_a_codex_exchange_comes_out(plant: Callable[[], str]) -> None:
    call_id, custom = plant(), {"type": "custom_tool_call", "name": plant(), "call_id": plant(), "input": plant()}
    call = {
        "type": "function_call",
        "name": "spawn_agent",
        "namespace": plant(),
        "arguments": plant(),
        "call_id": call_id,
    }
    message = {"type": "agent_message", "author": plant(), "recipient": plant(), "content": []}
    sealed = {"type": "encrypted_content", "encrypted_content": plant()}
    body = {
        "model": plant(),
        "instructions": plant(),
        "input": [
            {"type": "additional_tools", "role": "developer", "tools": [{"type": plant(), "name": plant()}]},
            {"type": "message", "role": plant(), "content": [{"type": "input_text", "text": plant()}]},
            {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": plant()}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": plant()}], "encrypted_content": plant()},
            call,
            {"type": "function_call_output", "call_id": call_id, "output": f'{{"task_name":"{plant()}"}}'},
            {**message, "content": [{"type": "input_text", "text": plant()}, sealed]},
            {"type": plant(), plant(): plant()},
        ],
        "client_metadata": {"x-codex-turn-metadata": plant()},
        "prompt_cache_key": plant(),
    }
    answer = codex_answer(
        call, custom, {"type": "message", "role": plant(), "content": [{"type": plant(), "text": plant()}]}
    )
    answer[-1]["response"].update(model=plant(), id=plant(), status=plant())
    made = exchange(1, body, answer, path="/v1/responses")
    again = exchange(3, body, answer, path="/v1/responses")
    assert_no_canary([planted(made, plant, None, None), planted(again, plant, plant(), plant())])
