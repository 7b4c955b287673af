"""The short way of a streamed answer: whole chunks go from server to client past mitmproxy's layers, as they came.

A piece of a stream passes through a dozen generators of mitmproxy's, which cost more than all the rest of it. A piece
of nothing but whole chunks, come while mitmproxy's parser stands between two chunks, would leave that parser as it was:
so it need not see it. An answer's first piece and its last always go the long way, and so does whatever is not plainly
a whole chunk: a part of one, an extension, a malformed size, trailers.

Between plain sockets the pieces are taken where the event loop reads them (`Tap`), before the task that reads the
connection wakes; where one side speaks TLS inside mitmproxy, behind its decryption (`Relay.divert`).

What is used of mitmproxy's, h11's and asyncio's internals is in `Relay.divert`, `Tap._pass_on` and
`_is_between_chunks`, and tested against the pinned version range.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Final

from h11._readers import ChunkedReader
from mitmproxy import connection
from mitmproxy.proxy import commands, events, layer
from mitmproxy.proxy.layers.http._http1 import Http1Client

_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,8})\r\n")


def split_chunks(data: bytes) -> tuple[int, bytes]:
    """Where the whole chunks at the start of `data` end, and what they hold; an empty chunk (the last) is not taken."""
    end = 0
    pieces = []
    while size := _SIZE.match(data, end):
        begin = size.end()
        after = begin + int(size[1], 16)
        if after == begin or data[after : after + 2] != b"\r\n":
            break
        pieces.append(data[begin:after])
        end = after + 2
    return end, pieces[0] if len(pieces) == 1 else b"".join(pieces)


class Relay:
    """Of one answer. `hear` is given what the chunks of one read hold; it must not raise."""

    def __init__(self, parser: Http1Client, client: connection.Client, hear: Callable[[bytes], object]) -> None:
        self._parser = parser
        self._answer = parser.response
        self._client = client
        self._hear = hear

    @property
    def over(self) -> bool:
        """Whether the answer has come to its end: what the server says next is not of it."""
        return self._parser.response is not self._answer

    def take(self, data: bytes) -> int:
        """How many of these bytes of the server's go to the client as they are."""
        if self.over or self._parser.buf or not _is_between_chunks(self._parser.body_reader):
            return 0
        end, content = split_chunks(data)
        if end:
            self._hear(content)
        return end

    def divert(self) -> None:
        """Takes what the parser is given, until the answer is over: for what mitmproxy decrypts or encrypts."""
        parser = self._parser

        def take_or_handle(event: events.Event) -> layer.CommandGenerator[None]:
            if isinstance(event, events.DataReceived) and (taken := self.take(event.data)):
                yield commands.SendData(self._client, event.data[:taken])
                event = events.DataReceived(event.connection, event.data[taken:])
                if not event.data:
                    return
            yield from Http1Client._handle_event(parser, event)  # noqa: SLF001 - what is replaced
            if self.over and vars(parser).get("_handle_event") is take_or_handle:
                del vars(parser)["_handle_event"]

        vars(parser)["_handle_event"] = take_or_handle  # as mitmproxy's own layers do while they run


class Tap(asyncio.Protocol):
    """Stands before a server's `reader` until it is taken away, and lets it have what does not go to `client` at once.

    Nothing may overtake what is on the long way: so pieces are taken only while all that came before has been dealt
    with, and while the client takes in what it is sent. `on_pass` is called for each piece that is taken.
    """

    def __init__(
        self,
        relay: Relay,
        server: asyncio.Transport,
        reader: asyncio.StreamReader,
        client: asyncio.WriteTransport,
        on_pass: Callable[[], object],
    ) -> None:
        self.relay = relay
        self._server = server
        self._reader = reader
        self._client = client
        self._on_pass = on_pass
        below = server.get_protocol()
        assert isinstance(below, asyncio.Protocol)
        self._below = below
        server.set_protocol(self)

    def take_away(self) -> None:
        self._server.set_protocol(self._below)

    def data_received(self, data: bytes) -> None:
        taken = self._pass_on(data)
        if taken < len(data):
            self._below.data_received(data[taken:])

    def _pass_on(self, data: bytes) -> int:
        # Whoever reads the connection waits for more: it has read all there was, and dealt with it.
        waits = self._reader._waiter is not None  # type: ignore[attr-defined]  # noqa: SLF001 - told nowhere else
        if not waits or self._client.is_closing() or self._client.get_write_buffer_size():
            return 0
        taken = self.relay.take(data)
        if taken:
            self._on_pass()
            self._client.write(data[:taken])
        return taken

    def eof_received(self) -> bool | None:
        return self._below.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._below.connection_lost(exc)

    def pause_writing(self) -> None:
        self._below.pause_writing()

    def resume_writing(self) -> None:
        self._below.resume_writing()


def _is_between_chunks(reader: object) -> bool:
    return isinstance(reader, ChunkedReader) and not (
        reader._bytes_in_chunk or reader._bytes_to_discard or reader._reading_trailer  # noqa: SLF001 - told nowhere else
    )
