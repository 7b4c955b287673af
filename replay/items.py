"""A prompt's segments as the items of a conversation: who says which tokens, which call a result belongs to; pure.

The rules keep items of one history equal in every prompt that repeats it, so that servers find the prefix again. Calls
and results are paired in order, within a turn. A call whose result the prompt does not have is text of the assistant,
or of the call before it, and a result without its call is text of the user: servers refuse halves. Tool definitions
speak as the system, since a schema costs other tokens than were recorded; thinking speaks as the assistant, since
servers drop it when told what it is; images and documents are text of the user, as long as was recorded.

Some chat templates want less: no system, no tools, strictly the user and the assistant in turns, the user first. What
such a server does not take goes out as text of who is left, and since neighbours of one kind are one item, user and
assistant then alternate.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

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
INSTEAD: Final[Mapping[Kind, Kind]] = {"system": "user", "call": "assistant", "result": "user", "assistant": "user"}
_PAIRS: Final = frozenset({"call", "result"})
_LAST: Final = frozenset({"user", "result"})


class Item(NamedTuple):
    """Tokens `start` up to `stop` of the prompt. `call` numbers a call and its result, the same in every prompt."""

    kind: Kind
    start: int
    stop: int
    call: int = 0


@dataclass(frozen=True, slots=True)
class Manners:
    """Of a server: `refused` kinds go out as text; `user_opens`: nobody else may speak first after the system."""

    refused: frozenset[Kind] = frozenset()
    user_opens: bool = False


ANY_MANNERS: Final = Manners()


def items_of(input_tokens: int, segments: SegmentList, manners: Manners = ANY_MANNERS) -> tuple[Item, ...]:
    """Without gaps; the last is the user's or a result. A prompt without segments is one item of the user."""
    kinds, stops = _placed(input_tokens, segments, manners.refused)
    if manners.user_opens:
        _open_with_user(kinds)
    calls = _paired(kinds)
    items: list[Item] = []
    before, start = "", 0
    for number, (given, stop) in enumerate(zip(kinds, stops, strict=True)):
        kind, call = given, calls.get(number, 0)
        if number not in calls and (given in _PAIRS or (given == "system" and before not in ("", "system"))):
            kind = given if given == "call" == before else INSTEAD[given]
        if kind == before and number not in calls:
            last = items.pop()
            start, call = last.start, last.call
        items.append(Item(kind, start, stop, call))
        before, start = kind, stop
    if items[-1].kind not in _LAST:
        last = items.pop()
        joined = bool(items) and items[-1].kind == "user"
        items.append(Item("user", items.pop().start if joined else last.start, last.stop))
    return tuple(items)


def kinds_in(sessions: Iterable[Session]) -> frozenset[Kind]:
    """What their prompts may hold."""
    segments = (request.segments for session in sessions for request in session.requests)
    return frozenset(KINDS[role] for listed in segments if listed is not None for role in listed.roles)


def _placed(input_tokens: int, segments: SegmentList, refused: frozenset[Kind]) -> tuple[list[Kind], list[int]]:
    """Kinds, and where each ends; segments that lie beyond the prompt are left out, what none covers is the user's."""
    kinds: list[Kind] = []
    stops: list[int] = []
    said = {role: _taken(kind, refused) for role, kind in KINDS.items()}
    at = 0
    for role, tokens in segments:
        stop = min(at + tokens, input_tokens)
        if stop > at:
            kinds.append(said[role])
            stops.append(stop)
        at = stop
    if at < input_tokens:
        kinds.append("user")
        stops.append(input_tokens)
    return kinds, stops


def _taken(kind: Kind, refused: frozenset[Kind]) -> Kind:
    while kind in refused:
        kind = INSTEAD[kind]
    return kind


def _open_with_user(kinds: list[Kind]) -> None:
    """What the assistant says before the user does becomes the user's."""
    for number, kind in enumerate(kinds):
        if kind in ("assistant", "call"):
            kinds[number] = "user"
        elif kind != "system":
            return


def _paired(kinds: Sequence[Kind]) -> dict[int, int]:
    """Of every call that has a result, and of that result: the number both go by."""
    paired: dict[int, int] = {}
    waiting: deque[int] = deque()
    before: Kind | None = None
    for number, kind in enumerate(kinds):
        if kind == "assistant" or (kind == "call" and before != "call"):
            waiting.clear()  # another turn
        if kind == "call":
            waiting.append(number)
        elif kind == "result" and waiting:
            call = waiting.popleft()
            paired[call] = paired[number] = call
        before = kind
    return paired
