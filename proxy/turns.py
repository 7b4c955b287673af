"""One WebSocket connection: from the bytes of both directions to exchanges, one for each turn.

A client's `response.create` opens a turn, the server's messages answer it, and its last message ends it. Codex never
has two turns open on a connection; should a client, then answers come in the order of the questions. A message that is
part of no turn becomes an exchange of its own, of api `other`, so that nothing is lost. The handshake was told as an
exchange when it was heard; the first exchange that comes of it takes its id, and is that one told anew. Bytes are only
read here: mitmproxy relays them as a plain TCP stream, so compression, masks, pings and how a connection ends stay as
they are.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Final

from proxy.assembler import Chunk, RequestBody, RequestHead, ResponseHead
from proxy.hearing import Exchange, Hearing
from wire.api import Api
from wire.turns import CREATE, ENDINGS, message_type, status_of
from wire.websocket import Message, MessageReader

_SWITCHED: Final = 101
_SPOKEN: Final = ("text", "binary")


class Connection:
    """`handshake` was answered by `response` and has not ended; it does so by itself when no turn comes of it."""

    def __init__(self, hearing: Hearing, handshake: Exchange, response: ResponseHead) -> None:
        self._hearing = hearing
        self._handshake = handshake
        self._response = response
        self._client = MessageReader()
        self._server = MessageReader()
        self._t_began_us: dict[bool, int] = {}  # by side: when the message that is coming in began
        self._turns: deque[str] = deque()  # open ones
        self._told_anew = False  # the handshake, as the first exchange
        self._deaf = False

    def hear(self, data: bytes, *, from_client: bool) -> None:
        """Never raises: a connection that cannot be read is listened to no longer."""
        if self._deaf:
            return
        self._deaf = not self._hearing.guarded("", lambda: self._hear(data, from_client=from_client))
        if self._deaf:
            for exchange in filter(None, map(self._hearing.open.get, self._turns)):
                exchange.broken = True

    def end(self, *, client_left: bool) -> None:
        """The connection is gone."""
        for key in tuple(self._turns):
            self._hearing.break_off(key, client_left=client_left)
        self._turns.clear()
        if not self._told_anew:
            self._told_anew = True
            key = self._handshake.assembler.head.exchange_id
            self._handshake.broken = self._deaf
            self._hearing.open[key] = self._handshake
            self._hearing.end(key, "complete")

    def _hear(self, data: bytes, *, from_client: bool) -> None:
        reader = self._client if from_client else self._server
        t_us = self._hearing.clock()
        if not reader.pending:
            self._t_began_us[from_client] = t_us
        for message in reader.feed(data):
            if message.kind == "close":
                self._close(client_left=from_client)
            elif message.kind in _SPOKEN and from_client:
                self._ask(message, self._t_began_us[True], t_us)
            elif message.kind in _SPOKEN:
                self._answer(message, t_us)
            self._t_began_us[from_client] = t_us

    def _ask(self, message: Message, t_began_us: int, t_us: int) -> None:
        api = self._handshake.assembler.head.api
        is_turn = api == "openai-responses-ws" and message_type(message.data) == CREATE
        key, exchange = self._open(api if is_turn else "other", t_began_us)
        self._hearing.hear(exchange, RequestBody(t_us, message.data))
        exchange.request_complete = True
        if is_turn:
            self._turns.append(key)
        else:
            self._hearing.end(key, "complete")

    def _answer(self, message: Message, t_us: int) -> None:
        if not self._turns:
            key, exchange = self._open("other", t_us)
            self._hearing.hear(exchange, RequestBody(t_us, b""))
            self._say(exchange, _SWITCHED, message, t_us)
            self._hearing.end(key, "complete")
            return
        key = self._turns[0]
        exchange = self._hearing.open[key]
        self._say(exchange, None if exchange.assembler.answered else status_of(message.data), message, t_us)
        if message_type(message.data) in ENDINGS:
            self._turns.popleft()
            self._hearing.end(key, "complete")

    def _say(self, exchange: Exchange, status: int | None, message: Message, t_us: int) -> None:
        if status is not None:
            self._hearing.hear(exchange, ResponseHead(t_us, status, self._response.headers))
        self._hearing.hear(exchange, Chunk(t_us, message.data + b"\n"))

    def _open(self, api: Api, t_us: int) -> tuple[str, Exchange]:
        shaken: RequestHead = self._handshake.assembler.head
        muted = self._hearing.mutes()
        anew = not (self._told_anew or muted)
        exchange_id = shaken.exchange_id if anew else self._hearing.new_id(t_us)
        head = replace(shaken, exchange_id=exchange_id, t_us=t_us, api=api)
        self._told_anew |= anew
        return head.exchange_id, self._hearing.begin(head.exchange_id, head, self._handshake.client_id, muted=muted)

    def _close(self, *, client_left: bool) -> None:
        for key in tuple(self._turns):
            self._hearing.break_off(key, client_left=client_left)
        self._turns.clear()
