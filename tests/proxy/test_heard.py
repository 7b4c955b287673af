from __future__ import annotations

import pytest

from corpus.exchange import Identity, RequestRecord
from proxy.heard import Heard, gather
from wire.facts import RequestFacts


def hear(headers: tuple[tuple[str, str], ...], facts: RequestFacts | None = None) -> Heard:
    record = RequestRecord(
        "e", 0, 0, "POST", "/v1/messages", "anthropic-messages", "", headers, Identity(), None, 0, b""
    )
    return gather(record, b"", facts or RequestFacts())


def test_first_source_that_says_something_wins() -> None:
    heard = hear((("A", "1"), ("a", "2"), ("b", "")))
    assert heard.first(("header:b", "header:a")) == "1"
    assert heard.first(("header:c",)) is None


def test_body_copy_of_turn_metadata_replaces_the_header_copy() -> None:
    header = (("x-codex-turn-metadata", '{"turn_id":"h","only":"header"}'),)
    assert hear(header).turn("turn_id") == "h"
    heard = hear(header, RequestFacts(client_metadata={"x-codex-turn-metadata": '{"turn_id":"b","n":3}'}))
    assert heard.turn("turn_id") == "b"
    assert heard.turn("only") == heard.turn("n") == ""


@pytest.mark.parametrize("text", ["", "[1]", "{", "null", '"text"'])
def test_metadata_that_is_no_object_says_nothing(text: str) -> None:
    assert hear((("x-codex-turn-metadata", text),)).harness is None


def test_window_id_gives_the_thread() -> None:
    assert hear((("x-codex-window-id", "t:12"),)).header("x-codex-window-id") == "t"


@pytest.mark.parametrize(
    ("agent", "harness", "version"),
    [
        ("claude-cli/2.1.328 (external, sdk-cli)", "claude-code", "2.1.328"),
        ("codex_exec/0.171.0 (Debian 12.0.0; x86_64) dumb", "codex", "0.171.0"),
        ("codex-tui/0.171.0-alpha.1", "codex", "0.171.0-alpha.1"),
        ("opencode/1.2", "opencode", "1.2"),
        ("claude-cli/", "claude-code", None),
        ("curl/8.5.0", None, None),
        ("", None, None),
    ],
)
def test_user_agents(agent: str, harness: str | None, version: str | None) -> None:
    heard = hear((("User-Agent", agent),))
    assert (heard.harness, heard.version) == (harness, version)


def test_app_server_client_of_any_name_is_codex() -> None:
    heard = hear((("User-Agent", "my_driver/0.1"), ("version", "0.171.0"), ("x-codex-turn-metadata", '{"a":"b"}')))
    assert (heard.harness, heard.version) == ("codex", "0.171.0")


def test_request_without_facts_has_no_shape() -> None:
    heard = hear((("User-Agent", "claude-cli/2"), ("anthropic-beta", "fallback-credit-1")))
    shapes = (heard.is_bare, heard.wants_schema, heard.wants_title, heard.is_agent_hook, heard.has_identity_only)
    assert not any((*shapes, heard.wants_summary))
