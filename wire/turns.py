"""Turns on an OpenAI Responses WebSocket: what a message is, and what a turn's whole request would be.

The client sends `response.create` with what is new and the id of the response it goes on from; the server answers with
the events it would stream over HTTP. So a whole request is the input of the turn before, what that turn put out, then
the new input. An error is one message that carries the status HTTP would have given it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from wire.errors import WireError
from wire.jsonbody import count, parse_object, string
from wire.prompt_openai import input_items

CREATE: Final = "response.create"
# The last message of a turn.
ENDINGS: Final = frozenset(
    {"response.completed", "response.failed", "response.incomplete", "response.cancelled", "error"}
)
_OK: Final = 200

# The usual form, which needs no parsing: the type comes first.
_TYPE_FIRST: Final = re.compile(rb'\s*\{\s*"type"\s*:\s*"([A-Za-z0-9._-]*)"\s*[,}]')
_ONLY_OVER_WEBSOCKET: Final = frozenset({"type", "previous_response_id", "generate"})

Item = dict[str, Any]


def message_type(message: bytes) -> str | None:
    """None for what is no JSON object with a type."""
    if usual := _TYPE_FIRST.match(message):
        return usual[1].decode()
    try:
        return string(parse_object(message).get("type"))
    except WireError:
        return None


def status_of(message: bytes) -> int:
    """The status that a turn has whose first message this is."""
    if message_type(message) != "error":
        return _OK
    try:
        error = parse_object(message)
    except WireError:
        return _OK
    known = (count(error.get(key)) for key in ("status", "status_code"))
    return next((status for status in known if status), _OK)


def output_items(messages: Sequence[bytes]) -> list[Item]:
    """What a turn put out, finished items only, as a client would repeat them; WireError when it cannot be read."""
    finished: dict[int, Item] = {}
    summed_up: list[Item] = []
    for message in messages:
        kind = message_type(message)
        if kind == "response.output_item.done":
            event = parse_object(message)
            if isinstance(item := event.get("item"), dict):
                finished[count(event.get("output_index")) or 0] = item
        elif kind == "response.completed":
            response = parse_object(message).get("response")
            output = response.get("output") if isinstance(response, dict) else None
            summed_up = [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
    return [finished[index] for index in sorted(finished)] or summed_up


def response_id(messages: Sequence[bytes]) -> str | None:
    """The name by which a later turn goes on from this one; None when it did not complete."""
    for message in reversed(messages):
        if message_type(message) == "response.completed":
            response = parse_object(message).get("response")
            return string(response.get("id")) if isinstance(response, dict) else None
    return None


def previous_response_id(request: Item) -> str | None:
    return string(request.get("previous_response_id"))


def whole_request(request: Item, history: Sequence[Item]) -> Item:
    """The request as HTTP would carry it: `history` is the turn before's whole input and its output."""
    kept = {key: value for key, value in request.items() if key not in _ONLY_OVER_WEBSOCKET}
    return kept | {"input": [*history, *input_items(request)]}
