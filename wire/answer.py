"""A response's body as an Answer: JSON or a stream of events, whole or cut anywhere, good or an error.

Parts of an answer are read by the same code as parts of a request, so an answer's parts equal, but for the message
number, what later requests repeat of it. Nothing here raises: a body that cannot be read is an answer of which
nothing is known, and `complete` says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from wire import answer_anthropic, answer_chat, answer_openai
from wire.api import Api
from wire.errors import WireError
from wire.jsonbody import parse_json, parse_object, string
from wire.shapes import Answer
from wire.sse import SseEvent, split_sse

__all__ = ["Answer", "read_answer"]

_DONE: Final = b"[DONE]"  # closes a stream of chat completion chunks


def read_answer(api: Api, body: bytes, content_type: str | None) -> Answer:
    """Read a decoded body. `content_type` may be missing or wrong: a body that opens an object is JSON.

    The body of a WebSocket turn is its messages, a line feed after each.
    """
    try:
        if api == "openai-responses-ws":
            return read_messages(body.split(b"\n"))
        if body[:64].lstrip().startswith(b"{"):
            return _read_json(api, parse_object(body))
        if content_type is None or "event-stream" in content_type.lower():
            return _read_stream(api, split_sse(body))
    except WireError:
        pass  # cut JSON, or blocks of a shape no provider sends
    return Answer()


def read_messages(messages: Iterable[bytes]) -> Answer:
    """The messages of a turn on a Responses WebSocket, which are the events that a stream would have."""
    return _read_stream("openai-responses", [SseEvent("message", message) for message in messages if message.strip()])


def _read_json(api: Api, value: dict[str, Any]) -> Answer:
    error = _error_of(value)
    if error is not None and "choices" not in value and "output" not in value:
        return Answer(error=error)
    match api:
        case "anthropic-messages":
            return answer_anthropic.read_message(value)
        case "openai-responses":
            return answer_openai.read_response(value, error=error)
        case "openai-chat":
            return answer_chat.read_completion(value, error=error)
    return Answer()


def _read_stream(api: Api, stream: list[SseEvent]) -> Answer:
    events = _readable(stream)
    error = next((error for event in events if (error := _error_of(event)) is not None), None)
    match api:
        case "anthropic-messages":
            return answer_anthropic.read_events(events, error)
        case "openai-responses":
            return answer_openai.read_events(events, error)
        case "openai-chat":
            done = any(event.data.strip() == _DONE for event in stream)
            return answer_chat.read_chunks(events, error, done=done)
    return Answer()


def _readable(stream: Iterable[SseEvent]) -> list[dict[str, Any]]:
    """Event objects up to the first that is broken: what follows it cannot be trusted to belong together."""
    events: list[dict[str, Any]] = []
    for event in stream:
        if event.data.strip() == _DONE:
            continue
        try:
            value = parse_json(event.data)
        except WireError:
            break
        if isinstance(value, dict):
            events.append(value)
    return events


def _error_of(value: dict[str, Any]) -> str | None:
    """The provider's error code or type in a JSON body or an event; "error" when it names none.

    Shapes: {"error": {...}} (all three APIs, and Responses' failed response objects), {"response": {"error": {...}}}
    (Responses events), {"object": "error", ...} (older inference servers), {"type": "error", "code": ...} (Responses).
    """
    response = value.get("response")
    if isinstance(response, dict):
        value = response
    error = value.get("error")
    if error is None and (value.get("object") == "error" or value.get("type") == "error"):
        error = {key: word for key, word in value.items() if key != "type" or word != "error"}
    if error is None:
        return None
    named = error if isinstance(error, dict) else {}
    return string(named.get("code")) or string(named.get("type")) or "error"
