"""100 MB through one WebSocket of Codex: how much the recorder's memory grows.

Turns of 1 MB of input and a small answer, so that what is kept of each is written and let go.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import struct
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from rig import address, recorder, report, texts

from corpus.capture.reader import open_captures

TURNS = 100
TURN_BYTES = 1_000_000
WARM_UP = 10
_SWITCH = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n"
)


def main() -> None:
    asyncio.run(measure())


async def measure() -> None:
    async with model_api() as url:
        with tempfile.TemporaryDirectory() as folder:
            captures = Path(folder) / "captures"
            with recorder(url, captures) as proxy:
                before, after = await talk(proxy.url, proxy.rss_bytes)
            turns = sum(bool(e.request.body) for e in open_captures(captures).exchanges())
    grown_mb = (after - before) / 1e6
    numbers = {"megabytes": TURNS * TURN_BYTES / 1e6, "turns_recorded": turns, "rss_mb_before": round(before / 1e6)}
    ok = grown_mb <= 20 and turns == TURNS + WARM_UP
    report("proxy_websocket_memory", "<= 20 MB", ok=ok, grown_mb=round(grown_mb, 1), **numbers)


@contextlib.asynccontextmanager
async def model_api() -> AsyncIterator[str]:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 22)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(_SWITCH)
        while True:
            await receive(reader)
            for event in (
                {"type": "response.created"},
                {"type": "response.completed", "response": {"id": "r", "output": []}},
            ):
                writer.write(frame(json.dumps(event).encode()))
            await writer.drain()
    writer.close()


async def talk(url: str, rss_bytes: object) -> tuple[int, int]:
    reader, writer = await asyncio.open_connection(*address(url), limit=1 << 22)
    key = base64.b64encode(os.urandom(16)).decode()
    lines = ("GET /v1/responses HTTP/1.1", "Host: 127.0.0.1", "Connection: Upgrade", "Upgrade: websocket")
    lines += ("Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}", "session-id: bench", "", "")
    writer.write("\r\n".join(lines).encode())
    await reader.readuntil(b"\r\n\r\n")
    before = 0
    pieces = texts(TURN_BYTES)
    for turn in range(WARM_UP + TURNS):
        if turn == WARM_UP:
            await asyncio.sleep(1)
            before = rss_bytes()  # type: ignore[operator]
        create = {"type": "response.create", "model": "m", "input": [{"role": "user", "content": next(pieces)}]}
        writer.write(frame(json.dumps(create).encode(), mask=True))
        await writer.drain()
        for _ in range(2):
            await receive(reader)
    await asyncio.sleep(1)
    after = int(rss_bytes())  # type: ignore[operator]
    writer.close()
    return before, after


def frame(payload: bytes, *, mask: bool = False) -> bytes:
    """One text frame; masked with zeros, which leaves the payload as it is."""
    size, bit = len(payload), 0x80 if mask else 0
    length = bytes([bit | size]) if size < 126 else bytes([bit | 127]) + struct.pack(">Q", size)
    return b"\x81" + length + (b"\0\0\0\0" if mask else b"") + payload


async def receive(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readexactly(2)
    size = head[1] & 0x7F
    if size == 127:
        size = struct.unpack(">Q", await reader.readexactly(8))[0]
    elif size == 126:
        size = struct.unpack(">H", await reader.readexactly(2))[0]
    if head[1] & 0x80:
        await reader.readexactly(4)
    return await reader.readexactly(size)


if __name__ == "__main__":
    main()
