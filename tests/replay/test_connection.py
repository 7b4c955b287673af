from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from replay.connection import Clock, Connections, LostError

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"
CLOSING = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def connected(handle: Handle) -> AsyncIterator[Connections]:
    listening = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    connections = Connections("127.0.0.1", port, None, Clock(), 5)
    try:
        yield connections
    finally:
        connections.close()
        listening.close()
        async with asyncio.timeout(5):
            await listening.wait_closed()


def answering(data: bytes) -> Handle:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while await reader.readuntil(b"!"):
                writer.write(data)
        writer.close()

    return handle


async def ask(connections: Connections) -> list[tuple[int, bytes]]:
    connection = await connections.acquire()
    heard: list[tuple[int, bytes]] = []
    try:
        await connection.ask(b"hello!", lambda status, body, _at: heard.append((status, body)))
    finally:
        if connection.is_reusable():
            connections.release(connection)
        else:
            connection.close()
    return heard


async def test_connection_carries_one_request_after_the_other() -> None:
    async with connected(answering(OK)) as connections:
        assert await ask(connections) == [(200, b"ab")]
        (kept,) = connections._free
        assert kept.used
        assert await ask(connections) == [(200, b"ab")]
        assert connections._free == [kept]


async def test_connection_the_server_closes_is_not_kept() -> None:
    async with connected(answering(CLOSING)) as connections:
        assert await ask(connections) == []
        assert connections._free == []


async def test_connections_are_opened_ahead_once() -> None:
    async with connected(answering(OK)) as connections:
        await connections.warm(3)
        await connections.warm(2)
        assert [connection.used for connection in connections._free] == [False] * 3
        await ask(connections)
        assert len(connections._free) == 3


async def test_idle_connection_is_dropped_before_the_server_does() -> None:
    async with connected(answering(OK)) as connections:
        await ask(connections)
        connections._free[0].free_since_s -= 10
        old = connections._free[0]
        await ask(connections)
        assert old not in connections._free
        assert not old.is_open


async def test_silent_end_is_a_lost_connection() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"!")
        writer.close()

    async with connected(hang_up) as connections:
        with pytest.raises(LostError):
            await ask(connections)


async def test_what_is_no_http_is_a_value_error() -> None:
    async with connected(answering(b"what?\r\n\r\n")) as connections:
        with pytest.raises(ValueError, match="no HTTP"):
            await ask(connections)
        assert connections._free == []


async def test_server_that_speaks_unasked_is_hung_up_on() -> None:
    async with connected(answering(OK + b"more")) as connections:
        with pytest.raises(ValueError, match="behind the answer"):
            await ask(connections)


async def test_nobody_there_is_an_os_error_and_no_trouble_ahead_of_time() -> None:
    connections = Connections("127.0.0.1", 9, None, Clock(), 5)
    await connections.warm(2)
    with pytest.raises(OSError, match="9"):
        await connections.acquire()


def test_clocks_of_one_origin_agree() -> None:
    one = Clock()
    assert abs(Clock(one.origin_ns).now_us() - one.now_us()) < 1_000_000
    assert one.now_us() >= 0
