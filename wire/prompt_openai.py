"""OpenAI Responses: items as parts.

What differs from request to request without reaching the model is left out: item ids, Codex's item metadata, client
metadata. Codex's newer models send their tools as an `additional_tools` item at the head of the input; it is put where
tools belong. Items of a type not known here become their compact JSON, filed by how their type ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from wire.errors import WireError
from wire.jsonbody import members, objects, string, write_json
from wire.payload import binary, from_url, referenced, sealed
from wire.prose import prose
from wire.shapes import SYSTEM_MESSAGE, Part, PartKind
from wire.tools import tool_parts

Item = dict[str, Any]

_NOT_PROMPT: Final = frozenset({"id", "status", "internal_chat_message_metadata_passthrough", "encrypted_content"})
# (end of an unknown item's type, kind of its part); anything else steers the request: a configuration change, a trigger
_KIND_OF_ENDING: Final[tuple[tuple[str, PartKind], ...]] = (("_call", "tool_call"), ("_output", "tool_result"))


def read_parts(body: dict[str, Any]) -> list[Part]:
    """Parts of a Responses body, or of a WebSocket frame that holds one, in the provider's order."""
    items = input_items(body)
    parts = tool_parts(body.get("tools"))
    head = 0
    while head < len(items) and items[head].get("type") == "additional_tools":
        parts += tool_parts(items[head].get("tools"))
        head += 1
    parts += prose(string(body.get("instructions")) or "", SYSTEM_MESSAGE, "system")
    for number, item in enumerate(items[head:]):
        parts += item_parts(item, number)
    return parts


def fixed_parts(body: dict[str, Any]) -> list[Part]:
    """Parts that no item holds: the tools and instructions of the request itself."""
    return tool_parts(body.get("tools")) + prose(string(body.get("instructions")) or "", SYSTEM_MESSAGE, "system")


def input_items(body: dict[str, Any]) -> list[Item]:
    """The input as items; a plain string is one user message."""
    given = body.get("input")
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    if not isinstance(given, list):
        raise WireError("input is neither text nor a list")
    return members(given, "input")


def item_parts(item: Item, message: int) -> list[Part]:
    """Parts of one input or output item."""
    kind = item.get("type", "message")
    if not isinstance(kind, str):
        raise WireError("an item has no type")
    return _READERS.get(kind, _unknown)(item, message)


def _message(item: Item, message: int) -> list[Part]:
    role = string(item.get("role"))
    if role is None:
        raise WireError("a message has no role")
    return _content_parts(item.get("content"), message, role)


def _content_parts(content: object, message: int, role: str, *, name: str | None = None) -> list[Part]:
    if isinstance(content, str):
        return prose(content, message, role, name=name)
    parts: list[Part] = []
    for block in members(content, "content"):
        text = _text_of(block)
        parts += prose(text, message, role, name=name) if text is not None else _media(block, message, role, None)
    return parts


def _text_of(block: Item) -> str | None:
    """A content part's text, its refusal, or the compact JSON of what is no known payload."""
    text = string(block.get("text"))
    if text is None:
        text = string(block.get("refusal"))
    if text is None and string(block.get("type")) not in _MEDIA:
        text = write_json({key: value for key, value in block.items() if key not in _NOT_PROMPT})
    return text


def _media(block: Item, message: int, role: str, call_id: str | None) -> list[Part]:
    kind = _MEDIA[block["type"]]
    if kind == "opaque":
        payload = string(block.get("encrypted_content")) or ""
        return [sealed(payload, message, role, name=block["type"], call_id=call_id)]
    data, url = string(block.get("file_data")), string(block.get("image_url")) or string(block.get("file_url"))
    if data is not None and not data.startswith("data:"):
        return [binary(kind, data, message, role, call_id=call_id)]
    if address := data or url:
        return [from_url(kind, address, message, role, call_id=call_id)]
    return [referenced(kind, block.get("file_id"), message, role, call_id=call_id)]


def _call(item: Item, message: int) -> list[Part]:
    """A function call's arguments are a JSON string, a custom tool's input is free text: both as they are."""
    given = item.get("arguments", item.get("input"))
    text = given if isinstance(given, str) else write_json(given)
    name, call_id = string(item.get("name")), string(item.get("call_id"))
    return [Part("tool_call", text, message, str(item["type"]), call_id=call_id, name=name)]


def _call_output(item: Item, message: int) -> list[Part]:
    """The output's texts as one part, then its images and files."""
    role, call_id, output = str(item["type"]), string(item.get("call_id")), item.get("output")
    blocks = [{"text": output}] if isinstance(output, str) else members(output, "output of a tool")
    texts = [text for block in blocks if (text := _text_of(block)) is not None]
    parts = [Part("tool_result", "\n".join(texts), message, role, call_id=call_id)]
    for block in blocks:
        if _text_of(block) is None:
            parts += _media(block, message, role, call_id)
    return parts


def _reasoning(item: Item, message: int) -> list[Part]:
    """The summary is for people; the sealed content, where there is one, is the thought itself."""
    told = objects(item.get("summary")) + objects(item.get("content"))
    text = "\n".join(text for block in told if (text := string(block.get("text"))))
    parts = [Part("thinking", text, message, "reasoning")] if text else []
    return parts + _sealed_content(item, message)


def _sealed_content(item: Item, message: int) -> list[Part]:
    kind = str(item["type"])
    payload = string(item.get("encrypted_content"))
    return [sealed(payload, message, kind, name=kind)] if payload else []


def _agent_message(item: Item, message: int) -> list[Part]:
    """A task for a sub-agent, or its report; parts are named after the author's path."""
    return _content_parts(item.get("content"), message, "agent_message", name=string(item.get("author")))


def _later_tools(item: Item, message: int) -> list[Part]:
    return tool_parts(item.get("tools"), message, "additional_tools")


def _unknown(item: Item, message: int) -> list[Part]:
    role = str(item["type"])
    kind: PartKind = next((kind for ending, kind in _KIND_OF_ENDING if role.endswith(ending)), "system")
    # a reference to a stored item is nothing but its id
    dropped = _NOT_PROMPT - {"id"} if role == "item_reference" else _NOT_PROMPT
    text = write_json({key: value for key, value in item.items() if key not in dropped})
    call_id = string(item.get("call_id"))
    return [Part(kind, text, message, role, call_id=call_id, name=role), *_sealed_content(item, message)]


_MEDIA: Final[dict[str | None, PartKind]] = {
    "input_image": "image",
    "input_file": "document",
    "encrypted_content": "opaque",
}
_READERS: Final[dict[str, Callable[[Item, int], list[Part]]]] = {
    "message": _message,
    "function_call": _call,
    "custom_tool_call": _call,
    "function_call_output": _call_output,
    "custom_tool_call_output": _call_output,
    "reasoning": _reasoning,
    "compaction": _sealed_content,
    "agent_message": _agent_message,
    "additional_tools": _later_tools,
}
