from __future__ import annotations

from typing import Any

import pytest

from wire.errors import WireError
from wire.tools import is_server_tool, tool_names, tool_parts

BASH = {"name": "Bash", "description": "Run é", "input_schema": {"properties": {"cache_control": {}}}}


def test_tool_is_its_compact_json_without_the_cache_mark() -> None:
    plain = tool_parts([BASH])
    assert tool_parts([BASH | {"cache_control": {"type": "ephemeral"}}]) == plain
    (part,) = plain
    assert part.text == ('{"name":"Bash","description":"Run é","input_schema":{"properties":{"cache_control":{}}}}')
    assert (part.kind, part.name, part.message, part.role, part.deferred) == ("tools", "Bash", -2, "tools", False)


def test_deferred_definitions_and_their_placeholder_are_marked() -> None:
    tools = [BASH, BASH | {"name": "Web", "defer_loading": True}, {"name": "DeferredToolPlaceholder"}]
    assert [part.deferred for part in tool_parts(tools)] == [False, True, True]


def test_namespace_comes_as_its_own_words_then_its_tools() -> None:
    inner: list[dict[str, Any]] = [{"type": "custom", "name": "exec"}, {"type": "function", "name": "wait"}]
    namespace = {"type": "namespace", "name": "functions", "description": "d", "tools": inner}
    assert [part.name for part in tool_parts([namespace, BASH])] == ["functions", "exec", "wait", "Bash"]
    assert tool_parts([namespace])[0].text == '{"type":"namespace","name":"functions","description":"d"}'
    assert tool_names([namespace, BASH]) == ("exec", "wait", "Bash")


def test_chat_tool_is_named_by_its_function_and_bare_tool_by_its_type() -> None:
    assert tool_names([{"type": "function", "function": {"name": "ls"}}, {"type": "web_search"}, {}]) == (
        "ls",
        "web_search",
        "",
    )


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("web_search_20250305", True),
        ("web_search", True),
        ("web_fetch_20250910", True),
        ("code_execution_20250825", True),
        ("mcp", True),
        ("bash_20250124", False),
        ("text_editor_20250728", False),
        ("custom", False),
        ("function", False),
        (None, False),
    ],
)
def test_server_tools_are_known_by_type(kind: str | None, expected: bool) -> None:
    assert is_server_tool({"type": kind, "name": "x"}) is expected


def test_tools_that_are_no_list_of_objects_are_an_error() -> None:
    assert tool_parts(None) == []
    with pytest.raises(WireError, match="tools"):
        tool_parts({"name": "Bash"})
    with pytest.raises(WireError, match="namespace"):
        tool_parts([{"type": "namespace", "tools": ["exec"]}])
