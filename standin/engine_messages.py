"""The Messages API of the stand-in engine: its requests as chat requests, its answers as events.

As servers that offer it do, the engine turns such a request into a chat and lets the same template frame it. Usage
tells apart what was read from the cache and what was not, and comes with the last event but one.
"""

from __future__ import annotations

from typing import Any

import orjson

from standin.engine_answers import Reply
from standin.engine_prompts import RefusedError


def chat_of_messages(body: dict[str, Any]) -> dict[str, Any]:
    """RefusedError for blocks that the engine does not serve."""
    messages: list[dict[str, Any]] = []
    if body.get("system"):
        messages.append({"role": "system", "content": _text(body["system"])})
    for message in body.get("messages") or ():
        if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
            raise RefusedError(400, "a message needs one of the roles user, assistant", "messages")
        messages += _chat_messages(message["role"], message.get("content"))
    return {**body, "messages": messages}


def _chat_messages(role: str, content: object) -> list[dict[str, Any]]:
    """Results of tools become messages of their own, before the text beside them."""
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    found: list[dict[str, Any]] = []
    texts: list[str] = []
    calls: list[dict[str, Any]] = []
    for block in blocks:
        match block:
            case {"type": "text"}:
                texts.append(_text([block]))
            case {"type": "tool_use", "id": call, "name": name, "input": given}:
                function = {"name": name, "arguments": orjson.dumps(given).decode()}
                calls.append({"id": call, "type": "function", "function": function})
            case {"type": "tool_result", "tool_use_id": call} if role == "user":
                said = _text(block.get("content") or "")
                found.append({"role": "tool", "tool_call_id": call, "content": said})
            case _:
                raise RefusedError(400, "only text, tool_use and tool_result blocks are served", "messages")
    if texts or calls:
        found.append({"role": role, "content": "".join(texts)} | ({"tool_calls": calls} if calls else {}))
    return found


def _text(content: object) -> str:
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [part.get("text") if isinstance(part, dict) else None for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise RefusedError(400, "message content must be text", "messages")
    return "".join(str(text) for text in texts)


class MessagesReply(Reply):
    def whole(self, cached_tokens: int) -> bytes:
        text = "".join(self.word(i) for i in range(self.ask.output_tokens))
        content = [{"type": "text", "text": text}]
        return orjson.dumps({**self._message(), "content": content, **self._end(), "usage": self.usage(cached_tokens)})

    def opening(self) -> bytes:
        start = {**self._message(), "content": [], "usage": {"input_tokens": len(self.ask.ids), "output_tokens": 0}}
        block = {"type": "text", "text": ""}
        return _event("message_start", message=start) + _event("content_block_start", index=0, content_block=block)

    def token(self, position: int) -> bytes:
        return _event("content_block_delta", index=0, delta={"type": "text_delta", "text": self.word(position)})

    def closing(self, cached_tokens: int) -> bytes:
        ended = _event("message_delta", delta=self._end(), usage=self.usage(cached_tokens))
        return _event("content_block_stop", index=0) + ended + _event("message_stop")

    def usage(self, cached_tokens: int) -> dict[str, Any]:
        return {
            "input_tokens": len(self.ask.ids) - cached_tokens,
            "output_tokens": self.ask.output_tokens,
            "cache_read_input_tokens": cached_tokens,
            "cache_creation_input_tokens": 0,
        }

    def _message(self) -> dict[str, Any]:
        name = f"msg_{self.digest:016x}_{self.number}"
        return {"id": name, "type": "message", "role": "assistant", "model": self.ask.model}

    def _end(self) -> dict[str, Any]:
        return {"stop_reason": "max_tokens" if self.ask.finish == "length" else "end_turn", "stop_sequence": None}


def _event(name: str, **fields: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), orjson.dumps({"type": name, **fields}))
