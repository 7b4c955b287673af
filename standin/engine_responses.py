"""The Responses API of the stand-in engine: its requests as chat requests, its answers as events."""

from __future__ import annotations

from typing import Any

import orjson

from standin.engine_answers import Reply
from standin.engine_prompts import RefusedError


def chat_of_responses(body: dict[str, Any]) -> dict[str, Any]:
    """RefusedError for items that the engine does not serve."""
    messages: list[dict[str, Any]] = []
    if body.get("instructions"):
        messages.append({"role": "system", "content": body["instructions"]})
    given = body.get("input")
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given or ():
        _append(messages, item)
    return {**body, "messages": messages, "max_tokens": body.get("max_output_tokens")}


def _append(messages: list[dict[str, Any]], item: object) -> None:
    """A call goes into the assistant's message before it."""
    match item:
        case {"role": role, "content": content}:
            messages.append({"role": role, "content": content})
        case {"type": "function_call", "call_id": call, "name": name, "arguments": arguments}:
            if not messages or messages[-1]["role"] != "assistant":
                messages.append({"role": "assistant", "content": ""})
            function = {"name": name, "arguments": arguments}
            messages[-1].setdefault("tool_calls", []).append({"id": call, "type": "function", "function": function})
        case {"type": "function_call_output", "call_id": call, "output": output}:
            messages.append({"role": "tool", "tool_call_id": call, "content": output})
        case _:
            raise RefusedError(400, "only messages, function calls and their outputs are served", "input")


class ResponsesReply(Reply):
    def whole(self, cached_tokens: int) -> bytes:
        return orjson.dumps(self._response(cached_tokens))

    def opening(self) -> bytes:
        part = {"type": "output_text", "text": "", "annotations": []}
        added = {**self._message(""), "status": "in_progress", "content": []}
        return (
            self._event("response.created", 0, response={**self._envelope(), "status": "in_progress", "usage": None})
            + self._event("response.output_item.added", 1, output_index=0, item=added)
            + self._event("response.content_part.added", 2, **self._place(), part=part)
        )

    def token(self, position: int) -> bytes:
        return self._event("response.output_text.delta", position + 3, **self._place(), delta=self.word(position))

    def closing(self, cached_tokens: int) -> bytes:
        response, number = self._response(cached_tokens), self.ask.output_tokens + 3
        item, ended = response["output"][0], f"response.{response['status']}"
        return (
            self._event("response.output_text.done", number, **self._place(), text=item["content"][0]["text"])
            + self._event("response.output_item.done", number + 1, output_index=0, item=item)
            + self._event(ended, number + 2, response=response)
        )

    def usage(self, cached_tokens: int) -> dict[str, Any]:
        prompt, output = len(self.ask.ids), self.ask.output_tokens
        return {
            "input_tokens": prompt,
            "input_tokens_details": {"cached_tokens": cached_tokens},
            "output_tokens": output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": prompt + output,
        }

    def _response(self, cached_tokens: int) -> dict[str, Any]:
        text = "".join(self.word(i) for i in range(self.ask.output_tokens))
        cut = self.ask.finish == "length"
        return {
            **self._envelope(),
            "status": "incomplete" if cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "output": [self._message(text)],
            "usage": self.usage(cached_tokens),
        }

    def _envelope(self) -> dict[str, Any]:
        name = f"resp_{self.digest:016x}_{self.number}"
        return {"id": name, "object": "response", "created_at": self.created_s, "model": self.ask.model, "error": None}

    def _message(self, text: str) -> dict[str, Any]:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        return {"id": self._item(), "type": "message", "role": "assistant", "status": "completed", "content": content}

    def _item(self) -> str:
        return f"msg_{self.digest:016x}_{self.number}"

    def _place(self) -> dict[str, Any]:
        return {"item_id": self._item(), "output_index": 0, "content_index": 0}

    def _event(self, name: str, number: int, **fields: object) -> bytes:
        data = orjson.dumps({"type": name, "sequence_number": number, **fields})
        return b"event: %s\ndata: %s\n\n" % (name.encode(), data)
