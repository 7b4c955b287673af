"""Bodies that repeat their history, parsed so that the work is in proportion to what a turn added.

The messages of a conversation's next request begin with the same bytes. Where a message begins was found out in the
body before, and what the messages before it came to was kept; so the stretch between the first message and that place
is cut out and the little that is left is parsed. Nothing is taken on trust: the cut stretch is byte for byte what was
parsed, as whole messages, in an earlier body, so the rest is JSON exactly when the whole is, and means the same with
those messages put back. A body that is written in another way is parsed whole, which costs time and changes nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from corpus.capture.repeats import shared_bytes
from wire.errors import WireError
from wire.jsonbody import parse_json, parse_object

MAX_REMEMBERED_BYTES: Final = 64 * 1024 * 1024  # bodies held for comparison
WORTH_BYTES: Final = 32 * 1024  # shorter bodies are parsed whole: that takes a tenth of a millisecond

_BEGINNING_BYTES: Final = 256  # of the first message: tells a conversation from what is asked beside it
_PLACES: Final = 4  # the last ones: a cache mark may stand on one of the last messages, and moves on
_TRIES: Final = 4  # places that look like the beginning of a message and may be inside of one


@dataclass(frozen=True, slots=True)
class MessageList:
    """Where a protocol's requests keep their history, and how a message in it begins as clients write it."""

    name: str
    marks: tuple[bytes, ...]

    @property
    def opening(self) -> bytes:
        return b'"%s":[' % self.name.encode()


@dataclass(frozen=True, slots=True)
class _Place[S]:
    """A message begins `offset` bytes behind the beginning of the first; `before` is what those before it came to."""

    offset: int
    before: S


@dataclass(frozen=True, slots=True)
class _Known[S]:
    body: bytes
    first: int  # offset of the first message
    places: tuple[_Place[S], ...]  # ascending, the first message's first


class Histories[S]:
    """`add` gives what more messages bring, beginning from `start`; states are never changed in place."""

    def __init__(
        self, start: S, add: Callable[[S, list[Any]], S], max_remembered_bytes: int = MAX_REMEMBERED_BYTES
    ) -> None:
        self._start = start
        self._add = add
        self._max_bytes = max_remembered_bytes
        self._held_bytes = 0
        self._known: OrderedDict[Hashable, _Known[S]] = OrderedDict()  # longest unused first

    def read(self, conversation: Hashable, body: bytes, where: MessageList) -> tuple[dict[str, Any], S]:
        """The request with the messages that were not added yet, and what those before them came to.

        WireError when the body is no JSON object, and whatever `add` raises.
        """
        first = body.find(where.opening) + len(where.opening)
        if len(body) < WORTH_BYTES or not _opens(body[:first], where):
            return parse_object(body), self._start
        key = (conversation, body[first : first + _BEGINNING_BYTES])
        places = self._places(self._known.get(key), body, first)
        places += self._next_place(places[-1], body, first, where)
        request = parse_object(body[:first] + body[first + places[-1].offset :])
        if not isinstance(request.get(where.name), list):  # named twice
            return parse_object(body), self._start
        self._remember(key, _Known(body, first, (places[0], *places[1:][-_PLACES:])))
        return request, places[-1].before

    def _places(self, known: _Known[S] | None, body: bytes, first: int) -> list[_Place[S]]:
        """Those of the body before that lie in what it shares with this one."""
        if known is None:
            return [_Place(0, self._start)]
        shared = shared_bytes(known.body, known.first, body, first)
        return [place for place in known.places if place.offset <= shared]

    def _next_place(self, last: _Place[S], body: bytes, first: int, where: MessageList) -> Iterator[_Place[S]]:
        """The beginning of the last message, if it is found and there are whole messages before it."""
        begin, end = first + last.offset, len(body)
        for _ in range(_TRIES):
            end = max(body.rfind(mark, begin, end) for mark in where.marks)
            if end < 0:
                return
            try:
                between = parse_json(b"[" + body[begin:end] + b"]")
            except WireError:
                continue
            if between:  # else a comma comes after nothing
                yield _Place(end + 1 - first, self._add(last.before, between))
            return

    def _remember(self, key: Hashable, known: _Known[S]) -> None:
        before = self._known.pop(key, None)
        self._held_bytes += len(known.body) - (len(before.body) if before else 0)
        self._known[key] = known
        while self._held_bytes > self._max_bytes:
            self._held_bytes -= len(self._known.popitem(last=False)[1].body)


def _opens(head: bytes, where: MessageList) -> bool:
    """Whether the request's own list begins behind `head`, and not one inside of something else."""
    try:
        last = next(reversed(parse_object(head + b"]}").items()), None)
    except WireError:
        return False
    return last == (where.name, [])
