"""Where a streamed answer takes the short way: on the server's socket, before the task that reads it wakes.

What the event loop read is passed on at once where `proxy.relay` lets it, and else given to whoever reads the
connection. Either end may speak TLS that mitmproxy is in charge of. Then its own session opens what came, or seals what
goes: what was opened and may not pass stays in the session, where mitmproxy finds it.

What is used of asyncio's internals is in `End.is_read_out`, and tested.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from OpenSSL import SSL

from proxy.relay import Relay

_RECORD_BYTES: Final = 1 << 14  # the most that one TLS record holds


@dataclass(frozen=True, slots=True)
class End:
    """A client's or server's socket; `tls`: the session, where mitmproxy is in charge of one."""

    transport: asyncio.Transport
    reader: asyncio.StreamReader
    tls: SSL.Connection | None = None

    @property
    def is_read_out(self) -> bool:
        """Whether whoever reads it waits for more: all there was has been read and dealt with. Never, where no one can
        say: then all goes the long way."""
        return getattr(self.reader, "_waiter", None) is not None

    @property
    def takes_in(self) -> bool:
        """Whether it is there, and all that it was sent before has gone out."""
        return not self.transport.is_closing() and not self.transport.get_write_buffer_size()

    def send(self, data: bytes) -> None:
        self.transport.write(data if self.tls is None else _seal(self.tls, data))


class Tap(asyncio.Protocol):
    """Stands before a server's reader until it is taken away.

    Nothing may overtake what is on the long way: so pieces are taken only while all that came before has been dealt
    with. `on_pass` is called for each piece that is taken, `on_rest` when the server's TLS session holds what is left.
    """

    def __init__(
        self,
        relay: Relay,
        server: End,
        client: End,
        on_pass: Callable[[], object],
        on_rest: Callable[[], object],
    ) -> None:
        self.relay = relay
        self._server = server
        self._client = client
        self._on_pass = on_pass
        self._on_rest = on_rest
        below = server.transport.get_protocol()
        assert isinstance(below, asyncio.Protocol)
        self._below = below
        server.transport.set_protocol(self)

    def take_away(self) -> None:
        self._server.transport.set_protocol(self._below)

    def data_received(self, data: bytes) -> None:
        if not (self._server.is_read_out and self._client.takes_in):
            self._below.data_received(data)
        elif self._server.tls is not None:
            self._open(self._server.tls, data)
        elif (taken := self._pass_on(data)) < len(data):
            self._below.data_received(data[taken:])

    def _open(self, tls: SSL.Connection, sealed: bytes) -> None:
        """Looks at each record before it is taken out of the session."""
        tls.bio_write(sealed)
        try:
            while True:
                piece = tls.recv(_RECORD_BYTES, socket.MSG_PEEK)
                taken = self._pass_on(piece)
                if taken:
                    tls.recv(taken)
                if taken < len(piece):
                    break
        except SSL.WantReadError:
            return
        except SSL.Error:
            pass  # the end of the session, or worse: mitmproxy will come upon it too
        self._on_rest()

    def _pass_on(self, data: bytes) -> int:
        taken = self.relay.take(data)
        if taken:
            self._on_pass()
            self._client.send(data[:taken])
        return taken

    def eof_received(self) -> bool | None:
        return self._below.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._below.connection_lost(exc)

    def pause_writing(self) -> None:
        self._below.pause_writing()

    def resume_writing(self) -> None:
        self._below.resume_writing()


def _seal(tls: SSL.Connection, data: bytes) -> bytes:
    sealed = []
    with contextlib.suppress(SSL.Error):  # the client ended the session: what is left to say goes nowhere
        tls.sendall(data)
        while True:
            sealed.append(tls.bio_read(_RECORD_BYTES))
    return b"".join(sealed)
