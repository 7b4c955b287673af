"""Anthropic Messages: content blocks as parts.

Cache marks move along a conversation and never reach a part; a message that is one string is the same as a message of
one text block. Claude Code's billing line, first in the system text, becomes a part of its own kind. Blocks of a type
not known here become their compact JSON, so that nothing is lost and history stays comparable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from wire.errors import WireError
from wire.jsonbody import boolean, members, objects, string, write_json
from wire.payload import binary, from_url, referenced, sealed
from wire.prose import kind_of_role, prose
from wire.shapes import SYSTEM_MESSAGE, Part
from wire.tools import tool_parts

_BILLING: Final = "x-anthropic-billing-header:"

Block = dict[str, Any]


def read_parts(body: dict[str, Any]) -> list[Part]:
    """Parts of a Messages (or count_tokens) body in the provider's order."""
    if not isinstance(body.get("messages"), list):
        raise WireError("messages is not a list")
    parts = tool_parts(body.get("tools"))
    for text in system_texts(body.get("system")):
        parts += _system_parts(text)
    for number, message in enumerate(members(body["messages"], "messages")):
        role = string(message.get("role"))
        if role is None:
            raise WireError("a message has no role")
        parts += content_parts(message.get("content"), number, role)
    return parts


def system_texts(system: object) -> list[str]:
    """Texts of the `system` field, which is a string or a list of text blocks."""
    if isinstance(system, str):
        return [system]
    return [text for block in members(system, "system") if (text := string(block.get("text")))]


def is_billing(text: str) -> bool:
    return text.startswith(_BILLING)


def content_parts(content: object, message: int, role: str) -> list[Part]:
    """Parts of one message's content, which is a string or a list of blocks."""
    if isinstance(content, str):
        return prose(content, message, role)
    parts: list[Part] = []
    for block in members(content, "content"):
        parts += _block_parts(block, message, role)
    return parts


def _system_parts(text: str) -> list[Part]:
    if not is_billing(text):
        return prose(text, SYSTEM_MESSAGE, "system")
    line, _, rest = text.partition("\n")
    return [Part("billing", line, SYSTEM_MESSAGE, "system"), *prose(rest, SYSTEM_MESSAGE, "system")]


def _block_parts(block: Block, message: int, role: str) -> list[Part]:
    kind = block.get("type")
    if not isinstance(kind, str):
        raise WireError("a content block has no type")
    reader = _READERS.get(kind) or (_server_result if kind.endswith("_tool_result") else _unknown)
    return reader(block, message, role)


def _text(block: Block, message: int, role: str) -> list[Part]:
    return prose(string(block.get("text")) or "", message, role)


def _thinking(block: Block, message: int, role: str) -> list[Part]:
    """The text may be a summary, or left out; the signature (or `data`) seals the thought itself."""
    name = str(block["type"])
    parts: list[Part] = []
    if text := string(block.get("thinking")):
        parts.append(Part("thinking", text, message, role))
    if payload := string(block.get("signature")) or string(block.get("data")):
        parts.append(sealed(payload, message, role, name=name))
    return parts


def _tool_use(block: Block, message: int, role: str) -> list[Part]:
    arguments = block.get("input")
    text = arguments if isinstance(arguments, str) else write_json(arguments)
    name, call_id = string(block.get("name")), string(block.get("id"))
    return [Part("tool_call", text, message, role, call_id=call_id, name=name)]


def _tool_result(block: Block, message: int, role: str) -> list[Part]:
    """The result's texts as one part, then its images and documents."""
    call_id = string(block.get("tool_use_id"))
    texts: list[str] = []
    attached: list[Part] = []
    content = block.get("content")
    for inner in [{"type": "text", "text": content}] if isinstance(content, str) else members(content, "tool result"):
        kind = string(inner.get("type"))
        if kind == "text":
            texts.append(string(inner.get("text")) or "")
        elif kind in {"image", "document"}:
            attached += _media(inner, message, role, call_id)
        else:
            texts.append(write_json(_unmarked(inner)))
    is_error = boolean(block.get("is_error"))
    return [
        Part("tool_result", "\n".join(texts), message, role, call_id=call_id, is_error=is_error),
        *attached,
    ]


def _server_result(block: Block, message: int, role: str) -> list[Part]:
    """What a tool of the provider's brought back: readable fields as one part, sealed pages after it."""
    call_id, name = string(block.get("tool_use_id")), str(block["type"])
    content = block.get("content")
    pages = objects(content) or objects([content])
    readable = [{key: value for key, value in page.items() if key != "encrypted_content"} for page in pages]
    payloads = [payload for page in pages if (payload := string(page.get("encrypted_content")))]
    return [
        Part("tool_result", write_json(readable), message, role, call_id=call_id, name=name),
        *(sealed(payload, message, role, name=name, call_id=call_id) for payload in payloads),
    ]


def _attachment(block: Block, message: int, role: str) -> list[Part]:
    return _media(block, message, role, None)


def _media(block: Block, message: int, role: str, call_id: str | None) -> list[Part]:
    kind: Any = block["type"]
    raw = block.get("source")
    source: Block = raw if isinstance(raw, dict) else {}
    data, url = string(source.get("data")), string(source.get("url"))
    labels = [label for key in ("title", "context") if (label := string(block.get(key)))]
    parts = [Part(kind, "\n".join(labels), message, role, call_id=call_id)] if labels else []
    if source.get("type") == "text" and data is not None:
        parts.append(Part(kind, data, message, role, call_id=call_id))
    elif source.get("type") == "content":
        parts += content_parts(source.get("content"), message, role)
    elif data is not None:
        parts.append(binary(kind, data, message, role, call_id=call_id))
    elif url is not None:
        parts.append(from_url(kind, url, message, role, call_id=call_id))
    else:
        parts.append(referenced(kind, source, message, role, call_id=call_id))
    return parts


def _unknown(block: Block, message: int, role: str) -> list[Part]:
    payload = string(block.get("encrypted_content"))
    text = write_json({key: value for key, value in _unmarked(block).items() if key != "encrypted_content"})
    parts = [Part(kind_of_role(role), text, message, role)]
    if payload:
        parts.append(sealed(payload, message, role, name=str(block["type"])))
    return parts


def _unmarked(block: Block) -> Block:
    return {key: value for key, value in block.items() if key != "cache_control"}


_READERS: Final[dict[str, Callable[[Block, int, str], list[Part]]]] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _thinking,
    "tool_use": _tool_use,
    "server_tool_use": _tool_use,
    "mcp_tool_use": _tool_use,
    "tool_result": _tool_result,
    "mcp_tool_result": _tool_result,
    "image": _attachment,
    "document": _attachment,
}
