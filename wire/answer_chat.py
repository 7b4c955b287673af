"""Chat Completions responses: one JSON completion, or the chunks that spell it out. A choice is a message."""

from __future__ import annotations

from typing import Any, Final

from wire.jsonbody import count, objects, string
from wire.prompt_chat import message_parts
from wire.shapes import Answer, Part
from wire.usage import normalise_usage

Event = dict[str, Any]

_GROWING: Final = ("content", "reasoning_content", "reasoning", "refusal")


def read_completion(completion: Event, *, error: str | None = None, complete: bool = True) -> Answer:
    """Read a whole completion; several choices are one answer of several messages."""
    choices = objects(completion.get("choices"))
    parts: list[Part] = []
    for number, choice in enumerate(choices):
        if isinstance(message := choice.get("message"), dict):
            parts += message_parts(message | {"role": "assistant"}, number)
    return Answer(
        message_id=string(completion.get("id")),
        model=string(completion.get("model")),
        stop=next((stop for choice in choices if (stop := string(choice.get("finish_reason")))), None),
        usage=normalise_usage("openai-chat", completion.get("usage")),
        parts=tuple(parts),
        error=error,
        complete=complete and bool(choices) and error is None,
    )


def read_chunks(chunks: list[Event], error: str | None, *, done: bool) -> Answer:
    """Assemble a stream that may have been cut anywhere; `done`: its closing mark came."""
    completion: Event = {}
    choices: dict[int, _Choice] = {}
    for chunk in chunks:
        completion |= {key: chunk[key] for key in ("id", "model", "usage") if chunk.get(key) is not None}
        for delta in objects(chunk.get("choices")):
            choices.setdefault(count(delta.get("index")) or 0, _Choice()).grow(delta)
    completion["choices"] = [choice.whole() for _, choice in sorted(choices.items())]
    return read_completion(completion, error=error, complete=done)


class _Choice:
    """A choice in the making."""

    def __init__(self) -> None:
        self._finish: object = None
        self._texts: dict[str, list[str]] = {}
        self._calls: dict[int, _Call] = {}

    def grow(self, chunk: Event) -> None:
        self._finish = chunk.get("finish_reason") or self._finish
        delta = chunk.get("delta")
        if not isinstance(delta, dict):
            return
        for key in _GROWING:
            if piece := string(delta.get(key)):
                self._texts.setdefault(key, []).append(piece)
        for call in objects(delta.get("tool_calls")):
            self._calls.setdefault(count(call.get("index")) or 0, _Call()).grow(call)

    def whole(self) -> Event:
        message: Event = {key: "".join(pieces) for key, pieces in self._texts.items()}
        message["tool_calls"] = [call.whole() for _, call in sorted(self._calls.items())]
        return {"message": message, "finish_reason": self._finish}


class _Call:
    """A tool call in the making: id and name come once, arguments in pieces."""

    def __init__(self) -> None:
        self._id: object = None
        self._name: object = None
        self._arguments: list[str] = []

    def grow(self, delta: Event) -> None:
        self._id = delta.get("id") or self._id
        function = delta.get("function")
        if isinstance(function, dict):
            self._name = function.get("name") or self._name
            self._arguments.append(string(function.get("arguments")) or "")

    def whole(self) -> Event:
        return {"id": self._id, "function": {"name": self._name, "arguments": "".join(self._arguments)}}
