"""Anthropic Messages responses: one JSON message, or the events that spell it out."""

from __future__ import annotations

from typing import Any, Final

from wire.errors import WireError
from wire.jsonbody import parse_json, string
from wire.prompt_anthropic import content_parts
from wire.shapes import Answer
from wire.usage import normalise_usage

Event = dict[str, Any]

# delta type -> (its text field, field of the block it grows)
_GROWING: Final = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial_json", "input"),
}


def read_message(message: Event, *, error: str | None = None, complete: bool = True) -> Answer:
    """Read a whole message; also the count_tokens answer, which is nothing but a usage."""
    usage = message.get("usage", message if "input_tokens" in message else None)
    return Answer(
        message_id=string(message.get("id")),
        model=string(message.get("model")),
        stop=string(message.get("stop_reason")),
        usage=normalise_usage("anthropic-messages", usage),
        parts=tuple(content_parts(message.get("content"), 0, "assistant")),
        error=error,
        complete=complete and error is None,
    )


def read_events(events: list[Event], error: str | None) -> Answer:
    """Assemble a stream that may have been cut anywhere."""
    message: Event = {}
    blocks: dict[int, _Block] = {}
    stopped = counted = False
    for event in events:
        kind = event.get("type")
        if kind == "message_start":
            message = dict(_inner(event, "message"))
        elif kind == "message_delta":
            counted = counted or "usage" in event
            message["usage"] = _inner(message, "usage") | _said(_inner(event, "usage"))
            message["stop_reason"] = _inner(event, "delta").get("stop_reason")
        elif kind == "message_stop":
            stopped = True
        else:
            _grow(blocks, event)
    if not counted:  # message_start counts the input; its output count is only a beginning
        message["usage"] = {key: value for key, value in _inner(message, "usage").items() if key != "output_tokens"}
    message["content"] = [block.whole() for _, block in sorted(blocks.items())]
    return read_message(message, error=error, complete=stopped)


class _Block:
    """A content block in the making."""

    def __init__(self, start: Event) -> None:
        self._start = start
        self._grown: dict[str, list[str]] = {}

    def grow(self, delta: Event) -> None:
        source, target = _GROWING.get(str(delta.get("type")), ("", ""))
        if piece := string(delta.get(source)):
            self._grown.setdefault(target, []).append(piece)

    def whole(self) -> Event:
        """The block as a later request would repeat it; arguments that were cut stay text."""
        block = dict(self._start)
        for key, pieces in self._grown.items():
            grown = "".join(pieces)
            block[key] = _arguments(grown) if key == "input" else (string(block.get(key)) or "") + grown
        return block


def _grow(blocks: dict[int, _Block], event: Event) -> None:
    index = event.get("index")
    if not isinstance(index, int):
        return
    if event.get("type") == "content_block_start":
        blocks[index] = _Block(_inner(event, "content_block"))
    elif event.get("type") == "content_block_delta" and index in blocks:
        blocks[index].grow(_inner(event, "delta"))


def _arguments(text: str) -> object:
    try:
        return parse_json(text.encode(errors="surrogatepass"))
    except WireError:
        return text


def _inner(event: Event, key: str) -> Event:
    value = event.get(key)
    return value if isinstance(value, dict) else {}


def _said(usage: Event) -> Event:
    """Counts a message_delta repeats replace those of message_start; nulls say nothing."""
    return {key: value for key, value in usage.items() if value is not None}
