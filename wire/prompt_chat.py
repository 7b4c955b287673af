"""OpenAI Chat Completions, as spoken by OpenAI and by inference servers: messages as parts.

Tools come first, as chat templates put them; system messages stand where they were sent.
"""

from __future__ import annotations

from typing import Any, Final

from wire.errors import WireError
from wire.jsonbody import members, objects, string, write_json
from wire.payload import binary, from_url, referenced
from wire.prose import prose
from wire.shapes import Part, PartKind
from wire.tools import tool_parts

Message = dict[str, Any]

_MEDIA: Final[dict[str | None, PartKind]] = {"image_url": "image", "input_audio": "opaque", "file": "document"}
_THOUGHTS: Final = ("reasoning_content", "reasoning")  # servers differ in the name


def read_parts(body: dict[str, Any]) -> list[Part]:
    """Parts of a Chat Completions body in the provider's order."""
    if not isinstance(body.get("messages"), list):
        raise WireError("messages is not a list")
    parts = tool_parts(body.get("tools")) + tool_parts(body.get("functions"))
    for number, message in enumerate(members(body["messages"], "messages")):
        parts += message_parts(message, number)
    return parts


def message_parts(message: Message, number: int) -> list[Part]:
    """Parts of one message of a request, or of one choice of a response."""
    role = string(message.get("role"))
    if role is None:
        raise WireError("a message has no role")
    if role in {"tool", "function"}:
        return _result_parts(message, number, role)
    parts = [Part("thinking", thought, number, role) for thought in _thoughts(message)]
    parts += _content_parts(message.get("content"), number, role)
    parts += prose(string(message.get("refusal")) or "", number, role)
    for call in objects(message.get("tool_calls")):
        parts += _call_parts(call, number, role)
    legacy = message.get("function_call")
    return parts + (_call_parts({"function": legacy}, number, role) if legacy else [])


def _thoughts(message: Message) -> list[str]:
    """At most one: some servers send the same thought under both names."""
    return [text for key in _THOUGHTS if (text := string(message.get(key)))][:1]


def _content_parts(content: object, number: int, role: str) -> list[Part]:
    if isinstance(content, str):
        return prose(content, number, role)
    parts: list[Part] = []
    for block in members(content, "content"):
        text = _text_of(block)
        parts += prose(text, number, role) if text is not None else [_media(block, number, role, None)]
    return parts


def _text_of(block: Message) -> str | None:
    """A content block's text, or the compact JSON of what is no known payload."""
    text = string(block.get("text"))
    if text is None and string(block.get("type")) not in _MEDIA:
        text = write_json({key: value for key, value in block.items() if key != "cache_control"})
    return text


def _media(block: Message, number: int, role: str, call_id: str | None) -> Part:
    kind = _MEDIA[block["type"]]
    raw = block.get(block["type"])
    holder: Message = raw if isinstance(raw, dict) else {}
    data, url = string(holder.get("data")) or string(holder.get("file_data")), string(holder.get("url"))
    if data is not None and not data.startswith("data:"):
        return binary(kind, data, number, role, call_id=call_id)
    if address := data or url:
        return from_url(kind, address, number, role, call_id=call_id)
    return referenced(kind, holder, number, role, call_id=call_id)


def _call_parts(call: Message, number: int, role: str) -> list[Part]:
    raw = call.get("function") or call.get("custom")
    called: Message = raw if isinstance(raw, dict) else {}
    given = called.get("arguments", called.get("input"))
    text = given if isinstance(given, str) else write_json(given)
    name, call_id = string(called.get("name")), string(call.get("id"))
    return [Part("tool_call", text, number, role, call_id=call_id, name=name)]


def _result_parts(message: Message, number: int, role: str) -> list[Part]:
    """The result's texts as one part, then its images and files."""
    call_id, name, content = string(message.get("tool_call_id")), string(message.get("name")), message.get("content")
    blocks = [{"text": content}] if isinstance(content, str) else members(content, "content")
    texts = [text for block in blocks if (text := _text_of(block)) is not None]
    attached = [_media(block, number, role, call_id) for block in blocks if _text_of(block) is None]
    return [Part("tool_result", "\n".join(texts), number, role, call_id=call_id, name=name), *attached]
