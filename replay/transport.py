"""The way to the server and back: one streamed HTTP request at a time, every ending given a name.

`sent_us` is taken when the head is written, so waiting for a connection is lateness of ours and not the server's time
to first token. A request on a kept connection that the server has closed in the meantime fails before any answer: it is
sent once more, on a new connection, and counted. A time limit per request is the watchdog: nothing hangs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Self

from corpus.run import ErrorClass
from replay.answer import StreamedAnswer
from replay.connection import Clock, Connection, Connections, LostError
from replay.endpoints import Endpoint, endpoint_url
from replay.engines import error_class, error_message
from replay.http1 import head_lines, request_head
from wire.usage import Usage

_ERROR_BODY_LIMIT: Final = 1 << 16
_ABOUT_KEYS: Final = frozenset((401, 403, 407))  # a server's words may hold the key it was given, or a part of it


@dataclass(slots=True)
class Outcome:
    """Filled while the answer comes in, so a request cut short keeps what was seen of it."""

    sent_us: int | None = None
    first_token_us: int | None = None
    last_token_us: int | None = None
    end_us: int | None = None
    status: int | None = None
    usage: Usage | None = None
    error: ErrorClass | None = None
    resent: bool = False  # a stale connection had swallowed it
    detail: str = ""  # for a person; never stored


class _Exchange:
    """One request under way: what came back so far."""

    def __init__(self, endpoint: Endpoint, outcome: Outcome) -> None:
        self.outcome = outcome
        self.answer = StreamedAnswer(endpoint)
        self.refusal = bytearray()

    def take(self, status: int, body: bytes, at_us: int) -> None:
        self.outcome.status = status
        if status == 200:
            self.answer.feed(body, at_us)
        elif len(self.refusal) < _ERROR_BODY_LIMIT:
            self.refusal += body

    def settle(self, *, whole: bool) -> None:
        """What was heard goes into the outcome; an answer that is not whole says nothing about its ending."""
        outcome, answer = self.outcome, self.answer
        if outcome.status is not None and outcome.status != 200:
            about_keys = outcome.status in _ABOUT_KEYS
            outcome.detail = "it wants another key (--header)" if about_keys else error_message(bytes(self.refusal))
            outcome.error = error_class(outcome.status, outcome.detail)
            return
        if whole:
            answer.finish()
        else:
            answer.look()
        outcome.first_token_us, outcome.last_token_us = answer.first_token_us, answer.last_token_us
        outcome.usage, outcome.error, outcome.detail = answer.usage, answer.error, answer.detail


class Transport:
    """An HTTP client for one server; `async with` it."""

    def __init__(
        self, url: str, endpoint: Endpoint, headers: Mapping[str, str], timeout_s: float, clock: Clock
    ) -> None:
        self.url = endpoint_url(url, endpoint)
        self._endpoint = endpoint
        self._timeout_s = timeout_s
        self._clock = clock
        self._connections = Connections.to(self.url, clock, timeout_s)
        mine = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        self._head = request_head("POST", self.url, mine, headers)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._connections.close()

    async def warm(self, count: int) -> None:
        """Have connections ready for what is due soon."""
        await self._connections.warm(count)

    async def send(
        self, body: bytes, outcome: Outcome, on_sent: Callable[[int], None], headers: Mapping[str, str] | None = None
    ) -> None:
        """Never raises for what the server or network does; cancelling leaves `end_us` None."""
        exchange = _Exchange(self._endpoint, outcome)
        request = b"".join((self._head, head_lines(headers or {}), b"Content-Length: %d\r\n\r\n" % len(body), body))
        ended_us: int | None = None
        try:
            async with asyncio.timeout(self._timeout_s):
                ended_us = await self._try(request, exchange, on_sent)
        except TimeoutError:
            self._fail(exchange, "timeout", f"no complete answer within {self._timeout_s:g} s")
        except LostError as error:
            self._fail(exchange, "reset" if outcome.status is None else "truncated", str(error))
        except OSError as error:
            self._fail(exchange, "connect", error.strerror or str(error))
        except ValueError as error:
            self._fail(exchange, "bad_stream", str(error))
        except asyncio.CancelledError:
            exchange.settle(whole=False)
            raise
        else:
            exchange.settle(whole=True)
        outcome.end_us = self._clock.now_us() if ended_us is None else ended_us
        if outcome.sent_us is None:
            outcome.sent_us = outcome.end_us

    def _fail(self, exchange: _Exchange, error: ErrorClass, detail: str) -> None:
        """A class that the stream itself gave before it broke off says more, and stays."""
        exchange.settle(whole=False)
        if exchange.outcome.error is None:
            exchange.outcome.error, exchange.outcome.detail = error, detail

    async def _try(self, request: bytes, exchange: _Exchange, on_sent: Callable[[int], None]) -> int:
        connection = await self._acquire(fresh=False)
        try:
            return await self._ask(connection, request, exchange, on_sent)
        except LostError:
            if not connection.used or connection.status is not None:
                raise
        exchange.outcome.resent = True
        return await self._ask(await self._acquire(fresh=True), request, exchange, on_sent)

    async def _acquire(self, *, fresh: bool) -> Connection:
        try:
            return await self._connections.acquire(fresh=fresh)
        except TimeoutError as error:
            raise OSError("no connection within the time for it") from error

    async def _ask(
        self, connection: Connection, request: bytes, exchange: _Exchange, on_sent: Callable[[int], None]
    ) -> int:
        outcome = exchange.outcome
        if outcome.sent_us is None:  # a second try counts from the first
            outcome.sent_us = self._clock.now_us()
            answered = connection.ask(request, exchange.take)
            on_sent(outcome.sent_us)
        else:
            answered = connection.ask(request, exchange.take)
        try:
            ended_us = await answered
        finally:
            outcome.status = connection.status
            if connection.is_reusable():
                self._connections.release(connection)
            else:
                connection.close()
        return ended_us
