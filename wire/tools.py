"""Tool definitions of the three APIs as parts: one per tool, its compact JSON without cache marks.

Codex groups tools in namespaces: the namespace's own words come as a part before its tools. A deferred definition is
in the list for the server to load on demand, which changes the list in the middle of a session; it is marked, so that
whoever compares prefixes can leave it out.
"""

from __future__ import annotations

from typing import Any, Final

from wire.jsonbody import members, string, write_json
from wire.shapes import TOOLS_MESSAGE, Part

_DEFERRED_PLACEHOLDER: Final = "DeferredToolPlaceholder"

# Tools the provider runs itself, by the start of their type. Other typed tools (bash_..., text_editor_..., custom,
# function) are run by the client.
_SERVER_TYPES: Final = (
    "web_search",
    "web_fetch",
    "code_execution",
    "tool_search_tool",
    "file_search",
    "code_interpreter",
    "image_generation",
    "mcp",
)


def tool_parts(tools: object, message: int = TOOLS_MESSAGE, role: str = "tools") -> list[Part]:
    return [_part(tool, message, role) for tool in _flat(members(tools, "tools"))]


def tool_names(tools: list[dict[str, Any]]) -> tuple[str, ...]:
    """Names in the order sent; tools inside a namespace by their own name, namespaces left out."""
    return tuple(_name(tool) for tool in _flat(tools) if tool.get("type") != "namespace")


def is_server_tool(tool: dict[str, Any]) -> bool:
    return (string(tool.get("type")) or "").startswith(_SERVER_TYPES)


def _flat(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    flat: list[dict[str, Any]] = []
    for tool in tools:
        if tool.get("type") == "namespace":
            flat.append({key: value for key, value in tool.items() if key != "tools"})
            flat.extend(members(tool.get("tools"), "tools of a namespace"))
        else:
            flat.append(tool)
    return flat


def _part(tool: dict[str, Any], message: int, role: str) -> Part:
    name = _name(tool)
    deferred = tool.get("defer_loading") is True or name == _DEFERRED_PLACEHOLDER
    if "cache_control" in tool:
        tool = {key: value for key, value in tool.items() if key != "cache_control"}
    return Part("tools", write_json(tool), message, role, name=name, deferred=deferred)


def _name(tool: dict[str, Any]) -> str:
    """Chat Completions nests the definition; the provider's own tools may have a type only."""
    nested = tool.get("function")
    named = nested if isinstance(nested, dict) else tool
    return string(named.get("name")) or string(tool.get("type")) or ""
