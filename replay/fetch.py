"""A page, fetched whole: a server's models, metrics, the emptying of its cache. One connection for one request."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final, Literal

from replay.connection import Clock, Connections
from replay.http1 import request_head

_LIMIT: Final = 16 << 20  # bytes; an engine's metrics page is below one MiB


async def fetch(
    url: str, *, timeout_s: float, headers: Mapping[str, str] | None = None, method: Literal["GET", "POST"] = "GET"
) -> tuple[int, bytes]:
    """(status, body). Raises OSError (TimeoutError included), and ValueError for what is no HTTP or too large."""
    page = bytearray()
    status = 0

    def take(found: int, body: bytes, _at_us: int) -> None:
        nonlocal status, page
        status = found
        page += body
        if len(page) > _LIMIT:
            raise ValueError(f"the page is larger than {_LIMIT >> 20} MiB")

    length = b"Content-Length: 0\r\n" if method == "POST" else b""
    head = request_head(method, url, {"Accept": "*/*", "Connection": "close"}, headers or {})
    async with asyncio.timeout(timeout_s):
        connection = await Connections.to(url, Clock(), timeout_s).acquire()
        try:
            await connection.ask(head + length + b"\r\n", take)
            return connection.status or status, bytes(page)
        finally:
            connection.close()
