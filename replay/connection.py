"""Kept connections to one server, and one streamed HTTP request on one of them.

A read is taken into one buffer that all connections share, stamped once and handed on; nothing else happens at a read.
What a request costs the client is what limits how many streams one core can follow.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from typing import Final, Self
from urllib.parse import urlsplit

from replay.http1 import ResponseReader

_READ_BYTES: Final = 1 << 18
# uvicorn, in front of most engines, closes an idle connection after 5 s.
_KEEP_IDLE_S: Final = 4.0
_CONNECT_TIMEOUT_S: Final = 30.0
_PORTS: Final = {"http": 80, "https": 443}

# One loop reads one connection at a time, and a read is used up before the next one begins.
_BUFFER: Final = memoryview(bytearray(_READ_BYTES))

TakeBody = Callable[[int, bytes, int], None]  # status, bytes of the body, microseconds


class Clock:
    """Microseconds since `origin_ns` of the machine's monotonic clock, which its processes share."""

    def __init__(self, origin_ns: int | None = None) -> None:
        self.origin_ns = time.monotonic_ns() if origin_ns is None else origin_ns

    def now_us(self) -> int:
        return (time.monotonic_ns() - self.origin_ns) // 1000


class LostError(ConnectionError):
    """The connection ended before the answer was whole."""


class Connection(asyncio.BufferedProtocol):
    """One request at a time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._transport: asyncio.Transport | None = None
        self._reader = ResponseReader()
        self._take: TakeBody | None = None
        self._answered: asyncio.Future[int] | None = None
        self.used = False
        self.free_since_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    @property
    def status(self) -> int | None:
        """Of the answer that is coming in."""
        return self._reader.status

    def ask(self, request: bytes, take: TakeBody) -> asyncio.Future[int]:
        """The moment the answer was whole, in microseconds; LostError, or ValueError for what is no HTTP."""
        answered = self._answered = asyncio.get_running_loop().create_future()
        if self._transport is None or not self.is_open:
            answered.set_exception(LostError("the connection was closed"))
            return answered
        self._reader = ResponseReader()
        self._take = take
        self._transport.write(request)
        return answered

    def is_reusable(self) -> bool:
        """After an answer: it was whole, the request was sent whole, and the server keeps the connection."""
        transport, reader = self._transport, self._reader
        whole = reader.complete and reader.keeps_alive and self.is_open
        return whole and transport is not None and transport.get_write_buffer_size() == 0

    def close(self) -> None:
        self._answered = None
        if self._transport is not None:
            self._transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's name, and it is only a hint
        return _BUFFER

    def buffer_updated(self, nbytes: int) -> None:
        at_us = self._clock.now_us()
        if self._take is None or self._answered is None or self._answered.done():
            self.close()  # the server speaks unasked
            return
        try:
            body = self._reader.feed(bytes(_BUFFER[:nbytes]))
            if body:
                assert self._reader.status is not None
                self._take(self._reader.status, body, at_us)
        except ValueError as error:
            self._answered.set_exception(error)
            return
        if self._reader.complete:
            self._take = None
            self._answered.set_result(at_us)

    def connection_lost(self, exc: Exception | None) -> None:
        answered, self._transport = self._answered, None
        if answered is None or answered.done():
            return
        if self._reader.end():
            answered.set_result(self._clock.now_us())
        else:
            answered.set_exception(LostError(str(exc) if exc else "the server closed the connection"))


class Connections:
    """To one server; its addresses are looked up once and taken in turns."""

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None, clock: Clock, timeout_s: float) -> None:
        self._host, self._port, self._tls = host, port, tls
        self._clock = clock
        self._timeout_s = min(_CONNECT_TIMEOUT_S, timeout_s)
        self._addresses: list[str] = []
        self._turn = 0
        self._free: list[Connection] = []  # last used last
        self._opening = 0

    @classmethod
    def to(cls, url: str, clock: Clock, timeout_s: float) -> Self:
        """`url`: http or https."""
        parts = urlsplit(url)
        tls = ssl.create_default_context() if parts.scheme == "https" else None
        return cls(parts.hostname or "", parts.port or _PORTS[parts.scheme], tls, clock, timeout_s)

    async def acquire(self, *, fresh: bool = False) -> Connection:
        """A kept connection, else a new one; raises OSError (TimeoutError included) when there is none to be had."""
        while self._free and not fresh:
            connection = self._free.pop()
            if connection.is_open and connection.free_since_s > time.monotonic() - _KEEP_IDLE_S:
                return connection
            connection.close()
        return await self._open()

    def release(self, connection: Connection) -> None:
        """It may carry another request."""
        connection.used = True
        self._keep(connection)

    async def warm(self, count: int) -> None:
        """Have that many free, so that what is due soon does not wait for a handshake."""
        self._drop_stale()
        missing = count - len(self._free) - self._opening
        await asyncio.gather(*(self._open_ahead() for _ in range(missing)))

    def close(self) -> None:
        for connection in self._free:
            connection.close()
        self._free.clear()

    async def _open_ahead(self) -> None:
        self._opening += 1
        try:
            self._keep(await self._open())
        except OSError:
            return  # who needs it will hear it
        finally:
            self._opening -= 1

    def _keep(self, connection: Connection) -> None:
        connection.free_since_s = time.monotonic()
        self._free.append(connection)

    def _drop_stale(self) -> None:
        oldest_s = time.monotonic() - _KEEP_IDLE_S
        if self._free and self._free[0].free_since_s < oldest_s:
            for connection in self._free:
                if connection.free_since_s < oldest_s:
                    connection.close()
        self._free = [connection for connection in self._free if connection.is_open]

    async def _open(self) -> Connection:
        loop = asyncio.get_running_loop()
        if not self._addresses:
            found = await loop.getaddrinfo(self._host, self._port, proto=6)
            self._addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
        problem: OSError = OSError("the name has no address")
        for _ in self._addresses:
            address = self._addresses[self._turn % len(self._addresses)]
            self._turn += 1
            try:
                async with asyncio.timeout(self._timeout_s):
                    return await self._connect(loop, address)
            except OSError as error:
                problem = error
        raise problem

    async def _connect(self, loop: asyncio.AbstractEventLoop, address: str) -> Connection:
        tls_name = self._host if self._tls else None
        _, connection = await loop.create_connection(
            lambda: Connection(self._clock), address, self._port, ssl=self._tls, server_hostname=tls_name
        )
        return connection
