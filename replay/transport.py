"""The way to the server and back: one streamed HTTP request at a time, every ending given a name.

`sent_us` is taken when the head is written, so waiting for a connection is lateness of ours and not the server's time
to first token. A request on a kept connection that the server has closed in the meantime fails before any answer: it is
sent once more on another connection. A time limit per request is the watchdog: nothing hangs.
"""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Final, Self

import aiohttp

from corpus.run import ErrorClass
from replay.answer import StreamedAnswer
from replay.endpoints import Endpoint, endpoint_url
from replay.engines import error_class, error_message
from wire.usage import Usage

# uvicorn, in front of most engines, closes an idle connection after 5 s.
_KEEP_IDLE_S: Final = 4.0
_READ_BUFFER: Final = 1 << 17
_ERROR_BODY_LIMIT: Final = 1 << 16


class Clock:
    """Microseconds since its making, never going back."""

    def __init__(self) -> None:
        self._origin_ns = time.monotonic_ns()

    def now_us(self) -> int:
        return (time.monotonic_ns() - self._origin_ns) // 1000


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
    detail: str = ""  # for a person; never stored


@dataclass(slots=True)
class _Attempt:
    outcome: Outcome
    on_sent: Callable[[int], None]
    reused: bool = False


class Transport:
    """An HTTP client for one server; `async with` it."""

    def __init__(
        self, url: str, endpoint: Endpoint, headers: Mapping[str, str], timeout_s: float, clock: Clock
    ) -> None:
        self.url = endpoint_url(url, endpoint)
        self._endpoint = endpoint
        self._headers = {"Content-Type": "application/json", "Accept": "text/event-stream", **headers}
        self._timeout_s = timeout_s
        self._clock = clock

    async def __aenter__(self) -> Self:
        trace = aiohttp.TraceConfig()
        trace.on_request_headers_sent.append(self._on_head_sent)
        trace.on_connection_reuseconn.append(self._on_reuse)
        self._client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_IDLE_S),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=min(30.0, self._timeout_s)),
            trace_configs=[trace],
            read_bufsize=_READ_BUFFER,
            headers=self._headers,
        )
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._client.close()

    async def send(self, body: bytes, outcome: Outcome, on_sent: Callable[[int], None]) -> None:
        """Never raises for what the server or network does; cancelling leaves `end_us` None."""
        attempt = _Attempt(outcome, on_sent)
        try:
            async with asyncio.timeout(self._timeout_s):
                try:
                    await self._try(body, attempt)
                except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                    if not attempt.reused or outcome.status is not None:
                        raise
                    await self._try(body, attempt)
        except TimeoutError:
            outcome.error, outcome.detail = "timeout", f"no complete answer within {self._timeout_s:g} s"
        except aiohttp.ClientConnectionError as error:
            outcome.error = "connect" if outcome.status is None else "truncated"
            outcome.detail = str(error)
        except aiohttp.ClientPayloadError as error:
            outcome.error, outcome.detail = "truncated", str(error)
        except (aiohttp.ClientError, ValueError) as error:
            outcome.error, outcome.detail = "bad_stream", str(error)
        outcome.end_us = self._clock.now_us()
        if outcome.sent_us is None:
            outcome.sent_us = outcome.end_us

    async def _try(self, body: bytes, attempt: _Attempt) -> None:
        outcome = attempt.outcome
        async with self._client.post(self.url, data=io.BytesIO(body), trace_request_ctx=attempt) as response:
            outcome.status = response.status
            if response.status != 200:
                refusal = await response.content.read(_ERROR_BODY_LIMIT)
                outcome.detail = error_message(refusal)
                outcome.error = error_class(response.status, outcome.detail)
                return
            await self._read(response, outcome)

    async def _read(self, response: aiohttp.ClientResponse, outcome: Outcome) -> None:
        answer = StreamedAnswer(self._endpoint)
        try:
            async for data in response.content.iter_any():
                answer.feed(data, self._clock.now_us())
            answer.finish()
        finally:
            outcome.first_token_us, outcome.last_token_us = answer.first_token_us, answer.last_token_us
            outcome.usage, outcome.error, outcome.detail = answer.usage, answer.error, answer.detail

    async def _on_head_sent(
        self,
        _session: aiohttp.ClientSession,
        context: SimpleNamespace,
        _params: aiohttp.TraceRequestHeadersSentParams,
    ) -> None:
        attempt: _Attempt = context.trace_request_ctx
        if attempt.outcome.sent_us is None:  # a second try counts from the first
            attempt.outcome.sent_us = self._clock.now_us()
            attempt.on_sent(attempt.outcome.sent_us)

    async def _on_reuse(
        self,
        _session: aiohttp.ClientSession,
        context: SimpleNamespace,
        _params: aiohttp.TraceConnectionReuseconnParams,
    ) -> None:
        context.trace_request_ctx.reused = True
