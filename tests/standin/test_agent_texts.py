"""Instructions and tool lists of the agents."""

import orjson

from standin.agent_texts import (
    claude_environment,
    claude_late_note,
    claude_reminders,
    claude_system,
    claude_title_system,
    claude_tools,
    codex_context,
    codex_tools,
)


def test_a_sub_agent_has_fewer_tools_in_the_same_order() -> None:
    main = [tool["name"] for tool in claude_tools(main=True)]
    child = [tool["name"] for tool in claude_tools(main=False)]
    assert [name for name in main if name in child] == child
    assert len(child) < len(main)
    assert main[-1] == child[-1] == "Write"


def test_only_the_placeholder_is_deferred() -> None:
    assert [tool["name"] for tool in claude_tools(main=True) if tool.get("defer_loading")] == [
        "DeferredToolPlaceholder"
    ]


def test_texts_are_of_realistic_size() -> None:
    assert 20_000 < len(orjson.dumps(claude_tools(main=True))) < 40_000
    assert 25_000 < len(orjson.dumps(codex_tools())) < 45_000
    assert len(claude_system(main=False)) < len(claude_system(main=True)) < len(claude_environment("/w", main=True))
    assert len(claude_title_system()) > 2000
    assert len(claude_late_note()) > 1500


def test_reminders_are_marked_as_such() -> None:
    assert all(text.startswith("<system-reminder>") for text in claude_reminders())


def test_codex_says_where_it_works() -> None:
    texts = [text for _, parts in codex_context("/home/x") for _, text in parts]
    assert any("<cwd>/home/x</cwd>" in text for text in texts)
