from __future__ import annotations

from dataclasses import replace

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
from corpus.session import Agent, Session
from tests.anonymize.exchanges import claude_answer, claude_body, exchange, session_of, user


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
