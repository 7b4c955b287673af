"""A prompt's segments as the items of a conversation: who says which tokens, which call a result belongs to; pure.

The rules keep items of one history equal in every prompt that repeats it, so that servers find the prefix again. Calls
and results are paired in order, within a turn. A call whose result the prompt does not have is text of the assistant,
or of the call before it, and a result without its call is text of the user: servers refuse halves. Tool definitions
speak as the system, since a schema costs other tokens than were recorded; thinking speaks as the assistant, since
servers drop it when told what it is; images and documents are text of the user, as long as was recorded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from corpus.blocks import SegmentList
from corpus.session import Role, Session

Kind = Literal["system", "user", "assistant", "call", "result"]

KINDS: Final[Mapping[Role, Kind]] = {
    "system": "system",
    "tools": "system",
    "user": "user",
    "reminder": "user",
    "image": "user",
    "document": "user",
    "opaque": "assistant",
    "assistant": "assistant",
    "thinking": "assistant",
    "tool_call": "call",
    "tool_result": "result",
}
# As what an item goes out that the server does not take, or a half of a pair.
INSTEAD: Final[Mapping[Kind, Kind]] = {"system": "user", "call": "assistant", "result": "user"}
_MERGED: Final = frozenset({"system", "user", "assistant"})


@dataclass(frozen=True, slots=True)
class Item:
    """Tokens `start` up to `stop` of the prompt. `call` numbers a call and its result, the same in every prompt."""

    kind: Kind
    start: int
    stop: int
    call: int = 0


def items_of(input_tokens: int, segments: SegmentList, refused: frozenset[Kind] = frozenset()) -> tuple[Item, ...]:
    """Without gaps; the last is the user's or a result. A prompt without segments is one item of the user."""
    items = _paired([_allowed(item, refused) for item in _placed(input_tokens, segments)])
    merged: list[Item] = []
    for item in items:
        kind = "user" if item.kind == "system" and merged and merged[-1].kind != "system" else item.kind
        _append(merged, replace(item, kind=kind))
    if merged[-1].kind not in ("user", "result"):
        _append(merged, replace(merged.pop(), kind="user", call=0))
    return tuple(merged)


def kinds_in(sessions: Iterable[Session]) -> frozenset[Kind]:
    """What their prompts may hold."""
    segments = (request.segments for session in sessions for request in session.requests)
    return frozenset(KINDS[role] for listed in segments if listed is not None for role in listed.roles)


def _placed(input_tokens: int, segments: SegmentList) -> list[Item]:
    items: list[Item] = []
    at = 0
    for role, tokens in segments:
        stop = min(at + tokens, input_tokens)
        if stop > at:
            items.append(Item(KINDS[role], at, stop))
        at = stop
    if at < input_tokens:
        items.append(Item("user", at, input_tokens))
    return items


def _allowed(item: Item, refused: frozenset[Kind]) -> Item:
    return replace(item, kind=INSTEAD[item.kind]) if item.kind in refused else item


def _paired(items: Sequence[Item]) -> list[Item]:
    """Calls and results with their number, or as text."""
    paired: dict[int, int] = {}
    open_calls: deque[int] = deque()
    for number, item in enumerate(items):
        if item.kind == "assistant" or (item.kind == "call" and number and items[number - 1].kind != "call"):
            open_calls.clear()  # another turn
        if item.kind == "call":
            open_calls.append(number)
        elif item.kind == "result" and open_calls:
            call = open_calls.popleft()
            paired[call] = paired[number] = items[call].start
    placed: list[Item] = []
    for number, item in enumerate(items):
        if number in paired:
            placed.append(replace(item, call=paired[number]))
        elif item.kind == "call" and placed and placed[-1].kind == "call":
            placed[-1] = replace(placed[-1], stop=item.stop)
        else:
            placed.append(replace(item, kind=INSTEAD[item.kind]) if item.kind in ("call", "result") else item)
    return placed


def _append(items: list[Item], item: Item) -> None:
    """Neighbours of one kind become one, where they are text."""
    if items and items[-1].kind == item.kind and item.kind in _MERGED:
        item = replace(item, start=items.pop().start)
    items.append(item)
