"""OpenAI Responses: one JSON response, or the events that spell it out.

An item's `output_item.done` event is the item; the text that streamed before it only matters when the stream was cut.
"""

from __future__ import annotations

from typing import Any, Final

from wire.jsonbody import objects, string
from wire.prompt_openai import item_parts
from wire.shapes import Answer, Part
from wire.usage import normalise_usage

Event = dict[str, Any]

_WHOLE: Final = frozenset({"completed", "incomplete"})  # the provider said all it will say
_NOT_ENDED: Final = frozenset({"queued", "in_progress"})

# delta event -> field of the unfinished item that it grows
_GROWING: Final = {
    "response.output_text.delta": "content",
    "response.refusal.delta": "content",
    "response.reasoning_summary_text.delta": "summary",
    "response.reasoning_text.delta": "summary",
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
}
_LISTS: Final = frozenset({"content", "summary"})


def read_response(response: Event, *, items: list[Event] | None = None, error: str | None = None) -> Answer:
    """Read a response object; `items` are the output as streamed, when it was."""
    status = string(response.get("status"))
    output = items or objects(response.get("output"))
    parts: list[Part] = []
    for number, item in enumerate(output):
        parts += item_parts(item, number)
    return Answer(
        message_id=string(response.get("id")),
        model=string(response.get("model")),
        stop=_stop(response, status),
        usage=normalise_usage("openai-responses", response.get("usage")),
        parts=tuple(parts),
        error=error,
        complete=status in _WHOLE and error is None,
    )


def read_events(events: list[Event], error: str | None) -> Answer:
    """Assemble a stream that may have been cut anywhere."""
    response: Event = {}
    items: dict[int, Event] = {}
    grown: dict[int, dict[str, list[str]]] = {}
    for event in events:
        kind, index = str(event.get("type")), event.get("output_index")
        if isinstance(event.get("response"), dict):
            response = event["response"]
        elif kind in {"response.output_item.added", "response.output_item.done"} and isinstance(index, int):
            items[index] = event["item"] if isinstance(event.get("item"), dict) else {}
            grown[index] = {}
        elif kind in _GROWING and index in items and (piece := string(event.get("delta"))):
            grown[index].setdefault(_GROWING[kind], []).append(piece)
    return read_response(response, items=[_whole(items[index], grown[index]) for index in sorted(items)], error=error)


def _whole(item: Event, grown: dict[str, list[str]]) -> Event:
    """An item that was cut, with what had streamed; finished items have nothing to add."""
    whole = dict(item)
    for key, pieces in grown.items():
        text = "".join(pieces)
        whole[key] = [{"type": "text", "text": text}] if key in _LISTS else text
    return whole


def _stop(response: Event, status: str | None) -> str | None:
    details = response.get("incomplete_details")
    reason = string(details.get("reason")) if isinstance(details, dict) else None
    if status in _NOT_ENDED:
        return None
    return reason if status == "incomplete" and reason else status
