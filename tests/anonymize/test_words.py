from __future__ import annotations

import pytest

from anonymize.words import (
    HARNESSES,
    KINDS,
    STOPS,
    TOOL_CLASSES,
    audit_word,
    checksum,
    created_by,
    public_harness,
    public_model,
    public_stop,
    tokenizer_name,
    tool_class,
    version_numbers,
)


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


def test_no_word_of_the_lists_is_longer_than_32_characters() -> None:
    assert all(len(word) <= 32 for words in (HARNESSES, STOPS, KINDS.values(), TOOL_CLASSES.values()) for word in words)


def test_words_of_the_card_hold_no_path_and_no_prose() -> None:
    assert created_by("agentreel 0.1.0") == "agentreel 0.1.0"
    assert created_by("agentreel by jane") is None
    assert tokenizer_name("deepseek-v4") == "deepseek-v4"
    assert tokenizer_name("/home/jane/tokenizer") is None
    assert tokenizer_name("x" * 41) is None
    assert checksum("0123456789abcdef" * 4) == "0123456789abcdef" * 4
    assert checksum("jane") is None
    assert audit_word("T14") == "T14"
    assert audit_word("passed on 4 of 14 sessions") == "passed on 4 of 14 sessions"
    assert audit_word("passed on jane") is None
