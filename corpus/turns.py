"""Whole requests out of WebSocket turns, which say only what is new.

A turn names the exchange it goes on from (`RequestRecord.previous`, or else the response's id in its body); the whole
request is that one's whole input, what it put out, then the turn's own input, as the same conversation over HTTP would
have sent it. Items that the provider put out stand here as it said them, where a client over HTTP would repeat them
with changes that mean nothing to the model (`wire.prompt` brings both to the same parts).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from corpus.exchange import Exchange, Headers
from wire.encoding import decode_body
from wire.errors import WireError
from wire.jsonbody import parse_object, write_json
from wire.prompt_openai import input_items
from wire.turns import output_items, previous_response_id, response_id, whole_request

Item = dict[str, Any]


class HistoryMissingError(WireError):
    """A turn goes on from one that was not recorded, or cannot be read."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What one turn added to its conversation; a chain of these is all that was said, each item held once."""

    before: _Said | None
    items: tuple[Item, ...]


class Turns:
    """Ask for a session's exchanges by time, those included that are of no further interest: others go on from them."""

    def __init__(self) -> None:
        self._said: dict[str, _Said] = {}  # by exchange id
        self._named: dict[str, str] = {}  # response id -> exchange id

    def whole_body(self, exchange: Exchange) -> bytes:
        """The decoded request body, whole if it is a turn's. WireError when it cannot be read."""
        heard = exchange.request
        if not is_turn(exchange):
            return decode_body(heard.body, _content_encoding(heard.headers))
        request = parse_object(heard.body)
        name = previous_response_id(request)
        before = self._said.get(heard.previous or self._named.get(name or "", ""))
        if before is None and name is not None:
            raise HistoryMissingError("the turn before was not recorded")
        messages = exchange.response.messages if exchange.response else ()
        self._said[heard.exchange_id] = _Said(before, (*input_items(request), *output_items(messages)))
        if answered := response_id(messages):
            self._named[answered] = heard.exchange_id
        return write_json(whole_request(request, _items(before))).encode("utf-8", "surrogatepass")


def is_turn(exchange: Exchange) -> bool:
    """Whether this is a turn on a WebSocket, and not a handshake or anything else."""
    return exchange.request.api == "openai-responses-ws" and bool(exchange.request.body)


def _items(said: _Said | None) -> list[Item]:
    chain: list[_Said] = []
    while said is not None:
        chain.append(said)
        said = said.before
    return [item for turn in reversed(chain) for item in turn.items]


def _content_encoding(headers: Headers) -> str | None:
    return next((value for name, value in headers if name.lower() == "content-encoding"), None)
