"""What an OpenAI Responses request says in all, as a running digest, also where it only says what is new.

Over a WebSocket a turn names the response it goes on from and brings new items only. The digest of a turn is continued
from the digest of the turn before, so that a turn, the same turn asked again in full after a reconnect, and the same
turn asked by POST after a fall-back have equal digests. It is taken over the parts of the items, which are the same
whether the provider said them or the client repeats them. A request repeats its history, so the digest of an item with
an id is remembered by that id. Digests live in this process only; memory is bounded.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import xxhash

from wire.prompt_openai import fixed_parts, input_items, item_parts
from wire.shapes import Part
from wire.turns import previous_response_id

# Responses that may still be gone on from: the last one of each open connection; about half a kilobyte each.
REMEMBERED: Final = 65536

REMEMBERED_ITEMS: Final = 131072

Item = dict[str, Any]


class _Items:
    """Digests of items, by their ids where they have any."""

    def __init__(self, remembered: int) -> None:
        self._remembered = remembered
        self._known: OrderedDict[str, bytes] = OrderedDict()

    def digest(self, item: Item) -> bytes:
        name = item.get("id")
        if not isinstance(name, str):
            return _digest(item_parts(item, 0))
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = _digest(item_parts(item, 0))
            if len(self._known) > self._remembered:
                self._known.popitem(last=False)
        return known


class Chain:
    """One request's prompt: what stands first in every request, and the conversation up to here."""

    def __init__(self, fixed: bytes, said: xxhash.xxh3_128, items: _Items) -> None:
        self._fixed = fixed
        self._said = said
        self._items = items

    @property
    def digest(self) -> bytes:
        return self._fixed + self._said.digest()

    def then(self, items: Iterable[Item]) -> Chain:
        """The same prompt with more items behind it; WireError when they are none."""
        said = self._said.copy()
        for item in items:
            said.update(self._items.digest(item))
        return Chain(self._fixed, said, self._items)

    def under(self, fixed: bytes) -> Chain:
        return Chain(fixed, self._said, self._items)


@dataclass(frozen=True, slots=True)
class _Turn:
    exchange_id: str
    chain: Chain


class Chains:
    def __init__(self, remembered: int = REMEMBERED, remembered_items: int = REMEMBERED_ITEMS) -> None:
        self._remembered = remembered
        self._items = _Items(remembered_items)
        self._turns: OrderedDict[str, _Turn] = OrderedDict()  # by response id

    def previous(self, request: Item) -> str | None:
        """The exchange that this request goes on from."""
        turn = self._before(request)
        return turn.exchange_id if turn else None

    @property
    def empty(self) -> Chain:
        return Chain(b"", xxhash.xxh3_128(), self._items)

    def asked(self, request: Item, before: Chain | None = None) -> Chain | None:
        """`before`: of the items that were taken off the request's input, where any were.

        None when it goes on from a turn that was not heard, or has forgotten; WireError when it cannot be read.
        """
        turn = self._before(request)
        if turn is None and previous_response_id(request) is not None:
            return None
        chain = turn.chain if turn else before or self.empty
        return chain.under(_digest(fixed_parts(request))).then(input_items(request))

    def answered(self, response_id: str, exchange_id: str, chain: Chain) -> None:
        """`chain`: the turn's with its output."""
        self._turns[response_id] = _Turn(exchange_id, chain)
        while len(self._turns) > self._remembered:
            self._turns.popitem(last=False)

    def _before(self, request: Item) -> _Turn | None:
        name = previous_response_id(request)
        return self._turns.get(name) if name is not None else None


def _digest(parts: Sequence[Part]) -> bytes:
    digest = xxhash.xxh3_128()
    for part in parts:
        content = part.digest or part.text
        said = "\0".join((part.kind, part.role, part.call_id or "", part.name or "", content, ""))
        digest.update(said.encode("utf-8", "surrogatepass"))
    return digest.digest()
