"""What an OpenAI Responses request says in all, as a running digest, also where it only says what is new.

Over a WebSocket a turn names the response it goes on from and brings new items only. The digest of a turn is continued
from the digest of the turn before, so that a turn, the same turn asked again in full after a reconnect, and the same
turn asked by POST after a fall-back have equal digests. It is taken over the parts of the items, which are the same
whether the provider said them or the client repeats them. Digests live in this process only; memory is bounded.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wire.prompt_openai import fixed_parts, input_items, item_parts
from wire.shapes import Part
from wire.turns import previous_response_id

# Responses that may still be gone on from: the last one of each open connection; about half a kilobyte each.
REMEMBERED: Final = 65536

_DIGEST_BYTES: Final = 16

Item = dict[str, Any]


class Chain:
    """One request's prompt: what stands first in every request, and the conversation up to here."""

    def __init__(self, fixed: bytes, said: hashlib.blake2b) -> None:
        self._fixed = fixed
        self._said = said

    @property
    def digest(self) -> bytes:
        return hashlib.blake2b(self._fixed + self._said.digest(), digest_size=_DIGEST_BYTES).digest()

    def then(self, items: Iterable[Item]) -> Chain:
        """The same prompt with more items behind it; WireError when they are none."""
        said = self._said.copy()
        for item in items:
            _update(said, item_parts(item, 0))
        return Chain(self._fixed, said)

    def under(self, fixed: bytes) -> Chain:
        return Chain(fixed, self._said)


@dataclass(frozen=True, slots=True)
class _Turn:
    exchange_id: str
    chain: Chain


class Chains:
    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._turns: OrderedDict[str, _Turn] = OrderedDict()  # by response id

    def previous(self, request: Item) -> str | None:
        """The exchange that this request goes on from."""
        turn = self._before(request)
        return turn.exchange_id if turn else None

    def asked(self, request: Item) -> Chain | None:
        """None when it goes on from a turn that was not heard, or has forgotten; WireError when it cannot be read."""
        before = self._before(request)
        if before is None and previous_response_id(request) is not None:
            return None
        fixed = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        _update(fixed, fixed_parts(request))
        chain = before.chain.under(fixed.digest()) if before else Chain(fixed.digest(), hashlib.blake2b())
        return chain.then(input_items(request))

    def answered(self, response_id: str, exchange_id: str, chain: Chain) -> None:
        """`chain`: the turn's with its output."""
        self._turns[response_id] = _Turn(exchange_id, chain)
        while len(self._turns) > self._remembered:
            self._turns.popitem(last=False)

    def _before(self, request: Item) -> _Turn | None:
        name = previous_response_id(request)
        return self._turns.get(name) if name is not None else None


def _update(digest: hashlib.blake2b, parts: Sequence[Part]) -> None:
    for part in parts:
        content = part.digest or part.text
        said = "\0".join((part.kind, part.role, part.call_id or "", part.name or "", content, ""))
        digest.update(said.encode("utf-8", "surrogatepass"))
