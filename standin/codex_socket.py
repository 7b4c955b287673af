"""A scripted Codex thread's WebSocket: one connection, one turn at a time, new items only where it can.

After an error or a dropped line the thread connects again and says everything, as the real client does; an upgrade
that is refused with 426 sends it to POST for good.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
import orjson

from standin.agent_http import AgentError, AgentHttp, Headers
from wire.turns import ENDINGS, message_type

_ATTEMPTS: Final = 6
_REFUSED: Final = 426

Item = dict[str, Any]
Ask = Callable[[Sequence[Item], str | None], bytes]  # new items, the response they go on from -> message


class UpgradeRefusedError(Exception):
    """The server wants POST."""


@dataclass(slots=True)
class CodexSocket:
    http: AgentHttp
    url: str
    headers: Headers
    prewarm: bytes
    _socket: aiohttp.ClientWebSocketResponse | None = None
    _previous: str | None = None  # response that the server can go on from
    _known: int = field(default=0)  # items of the history that it stands for

    async def ready(self) -> None:
        """Connects and sends the prewarm; UpgradeRefusedError when the server wants POST."""
        self._socket = await self._connect()
        await self._ask(self.prewarm)

    async def turn(self, history: Sequence[Item], ask: Ask) -> list[bytes]:
        """The answer's messages, when one came whole."""
        wait, problem = self.http.pace.retry_s, ""
        for _ in range(_ATTEMPTS):
            try:
                if self._socket is None:
                    self._socket = await self._connect()
                known = self._known if self._previous else 0
                messages = await self._ask(ask(history[known:], self._previous))
            except (aiohttp.ClientError, ConnectionError) as err:
                problem = type(err).__name__
            else:
                last = message_type(messages[-1])
                if last == "response.completed":
                    return messages
                problem = last or "no answer"
                wait = max(wait, _retry_after(messages[-1]))
            await self.close()
            await asyncio.sleep(wait)
            wait *= 2
        raise AgentError(f"WebSocket {self.url}: {problem}")

    def knows(self, items: int) -> None:
        """The latest response stands for so many items of the history."""
        self._known = items

    async def close(self) -> None:
        if self._socket is not None:
            await self._socket.close()
        self._socket, self._previous, self._known = None, None, 0

    async def _connect(self) -> aiohttp.ClientWebSocketResponse:
        try:
            return await self.http.upgrade(self.url, self.headers)
        except aiohttp.WSServerHandshakeError as err:
            if err.status == _REFUSED:
                raise UpgradeRefusedError from None
            raise

    async def _ask(self, message: bytes) -> list[bytes]:
        """ConnectionError when the line drops before the last message."""
        assert self._socket is not None
        self.http.requests += 1
        await self._socket.send_str(message.decode())
        messages: list[bytes] = []
        while not messages or message_type(messages[-1]) not in ENDINGS:
            heard = await self._socket.receive()
            if heard.type is not aiohttp.WSMsgType.TEXT:
                raise ConnectionError("the line dropped")
            messages.append(heard.data.encode())
        last = orjson.loads(messages[-1])
        self._previous = last["response"]["id"] if last["type"] == "response.completed" else None
        return messages


def _retry_after(message: bytes) -> float:
    return float(orjson.loads(message).get("headers", {}).get("retry-after", 0))
