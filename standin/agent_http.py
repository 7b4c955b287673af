"""Sends the scripted agents' requests: headers exactly as given and in that order, retries with the same bytes.

Retries follow what Claude Code and Codex do: 429 and 5xx, a connection that breaks, a stream that ends before its last
event or with an error event. Anything else that is no success is an AgentError.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

import aiohttp
from multidict import CIMultiDict
from yarl import URL

_ATTEMPTS: Final = 6
_AUTO: Final = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")

Headers = Sequence[tuple[str, str]]


class AgentError(Exception):
    """A request of an agent that failed for good."""


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    headers: CIMultiDict[str]
    body: bytes


@dataclass(frozen=True, slots=True)
class AgentPace:
    """Seconds; the defaults make everything happen at once."""

    tool_s: float = 0.0  # scale of a tool's run time
    think_s: float = 0.0  # between an answer and the user's next prompt
    retry_s: float = 0.0  # before the first retry; doubles


class _ExactRequest(aiohttp.ClientRequest):
    """aiohttp puts Host first and adds headers of its own; here what the caller gave is all there is."""

    def update_headers(self, headers: object) -> None:
        assert isinstance(headers, CIMultiDict)
        self.headers = CIMultiDict(headers)


@dataclass(slots=True)
class AgentHttp:
    """One client process: a connection pool and a count of what was sent."""

    pace: AgentPace
    requests: int = 0
    _session: aiohttp.ClientSession | None = field(default=None)

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
        self._session = aiohttp.ClientSession(
            connector=connector, timeout=timeout, request_class=_ExactRequest, skip_auto_headers=_AUTO
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._session
        await self._session.close()

    async def stream(self, url: str, headers: Headers, body: bytes, is_whole: Callable[[bytes], bool]) -> Reply:
        """POST until an answer came whole."""
        wait, problem = self.pace.retry_s, ""
        for _ in range(_ATTEMPTS):
            try:
                reply = await self.once("POST", url, headers, body)
            except (aiohttp.ClientError, ConnectionError) as err:
                problem = type(err).__name__
            else:
                if reply.status == 200 and is_whole(reply.body):
                    return reply
                problem = f"HTTP {reply.status}" if reply.status != 200 else "the stream broke off"
                if reply.status != 429 and 200 < reply.status < 500:
                    break
                wait = max(wait, float(reply.headers.get("Retry-After", 0)))
            await asyncio.sleep(wait)
            wait *= 2
        raise AgentError(f"POST {url}: {problem}")

    async def upgrade(self, url: str, headers: Headers) -> aiohttp.ClientWebSocketResponse:
        """A WebSocket; the headers of the handshake itself keep their place and get values of their own."""
        assert self._session
        exact = CIMultiDict((name, value or URL(url).authority) for name, value in headers)
        self.requests += 1
        return await self._session.ws_connect(url, headers=exact, compress=15, max_msg_size=0)

    async def once(self, method: str, url: str, headers: Headers, body: bytes = b"") -> Reply:
        """One attempt; a `Host` or `Content-Length` with an empty value is filled in where it stands."""
        assert self._session
        filled = {"host": URL(url).authority, "content-length": str(len(body))}
        exact = CIMultiDict((name, value or filled.get(name.lower(), "")) for name, value in headers)
        self.requests += 1
        async with self._session.request(method, url, headers=exact, data=body or None) as response:
            return Reply(response.status, CIMultiDict(response.headers), await response.read())
