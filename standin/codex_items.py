"""Codex's input items: made by the client, or repeated from an answer.

Facts come from recorded traffic of version 0.171.0: the tool list is the first item, every item has a client-made id
and a metadata passthrough that later requests repeat, and items of an answer come back with another key order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from standin.agent_texts import codex_context, codex_tools
from standin.codex_wire import EPOCH_MS, CodexIds, uuid7
from wire.sse import split_sse

Item = dict[str, Any]

_ABOUT_KEY: Final = "internal_chat_message_metadata_passthrough"
_ECHO: Final[dict[str, tuple[str, ...]]] = {
    "reasoning": ("type", "id", "summary", "content", "encrypted_content"),
    "message": ("type", "status", "id", "role", "content"),
    "function_call": ("type", "status", "id", "name", "namespace", "arguments", "call_id"),
    "custom_tool_call": ("type", "id", "status", "call_id", "name", "input"),
}


def read_items(stream: bytes) -> list[Item]:
    """The finished items of a streamed answer."""
    events = (orjson.loads(event.data) for event in split_sse(stream))
    return [event["item"] for event in events if event["type"] == "response.output_item.done"]


def items_of(messages: Sequence[bytes]) -> list[Item]:
    """The finished items of an answer over a WebSocket."""
    events = map(orjson.loads, messages)
    return [event["item"] for event in events if event["type"] == "response.output_item.done"]


def is_whole(stream: bytes) -> bool:
    return b"event: response.completed" in stream


@dataclass(slots=True)
class ItemMaker:
    """Makes a thread's own input items, numbered in time."""

    thread_id: str
    _made: int = 0

    def context(self, ids: CodexIds) -> list[Item]:
        tools = {"type": "additional_tools", "id": self._id("at"), "role": "developer", "tools": codex_tools()}
        return [tools, *(self.message(ids, role, parts) for role, parts in codex_context(ids.cwd))]

    def message(self, ids: CodexIds, role: str, parts: Sequence[tuple[str, str]]) -> Item:
        """`parts`: (label, text) pairs."""
        content = [{"type": "input_text", "text": text} for _, text in parts]
        item = {"type": "message", "id": self._id("msg"), "role": role, "content": content}
        sources = [{"provenance": {"type": "user" if label == "user.text" else "harness"}} for label, _ in parts]
        about = {"content_item_kinds": [label for label, _ in parts], "content_item_metadata": sources}
        return item | self._about(ids, **about)

    def agent_message(self, ids: CodexIds, author: str, recipient: str, kind: str, text: str) -> Item:
        """`kind`: NEW_TASK (its text in a part of its own, sealed in reality) or FINAL_ANSWER."""
        named = recipient if kind == "NEW_TASK" else "/root"
        head = f"Message Type: {kind}\nTask name: {named}\nSender: {author}\nPayload:\n"
        if kind == "NEW_TASK":
            content = [
                {"type": "input_text", "text": head},
                {"type": "encrypted_content", "encrypted_content": text},
            ]
        else:
            content = [{"type": "input_text", "text": head + text}]
        item = {"type": "agent_message", "id": self._id("amsg"), "author": author, "recipient": recipient}
        source = {"provenance": {"type": "tool", "namespace": "collaboration"}}
        return item | {"content": content} | self._about(ids, content_item_metadata=[source] * len(content))

    def function_output(self, ids: CodexIds, call_id: str, output: str) -> Item:
        item = {"type": "function_call_output", "id": self._id("fco"), "call_id": call_id, "output": output}
        return item | self._about(ids)

    def custom_output(self, ids: CodexIds, call_id: str, output: str, seconds: float) -> Item:
        head = f"Script completed\nWall time {seconds:.1f} seconds\nOutput:\n"
        result = {"exit_code": 0, "original_token_count": len(output) // 4, "output": output}
        parts = [{"type": "input_text", "text": text} for text in (head, orjson.dumps(result).decode())]
        item = {"type": "custom_tool_call_output", "id": self._id("ctco"), "call_id": call_id, "output": parts}
        return item | self._about(ids)

    def echo(self, ids: CodexIds, item: Item) -> Item:
        """An answer's item the way the client repeats it: other key order, its own metadata added."""
        keys = _ECHO[item["type"]]
        again = {key: item.get(key) for key in keys if key in item or key == "content"}
        about: Item = {"turn_id": ids.turn_id}
        if item["type"] == "message":
            about["content_item_kinds"] = ["unknown"]
        return again | {_ABOUT_KEY: about}

    def _id(self, prefix: str) -> str:
        self._made += 1
        return f"{prefix}_{uuid7(3000 + self._made, self.thread_id, prefix, self._made)}"

    def _about(self, ids: CodexIds, **labels: object) -> Item:
        created = round(EPOCH_MS / 1000 + 3 + self._made * 0.137, 4)
        return {_ABOUT_KEY: {"turn_id": ids.turn_id, "create_time": created, **labels}}
