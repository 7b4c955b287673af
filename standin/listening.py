"""Starts an aiohttp application on the loopback interface and hands back where it listens."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from corpus.errors import InputError

_HOST = "127.0.0.1"
_SHUTDOWN_S = 1.0  # grace for streams in flight when the stand-in is closed


@dataclass(frozen=True, slots=True)
class Listening:
    """A running stand-in server."""

    url: str  # "http://127.0.0.1:PORT"
    _runner: web.AppRunner

    async def close(self) -> None:
        await self._runner.cleanup()


async def listen(app: web.Application, port: int, *, auto_decompress: bool = True) -> Listening:
    """Port 0 takes any free one. Handlers are cancelled when their client leaves. InputError: the port is taken."""
    runner = web.AppRunner(
        app,
        access_log=None,
        handler_cancellation=True,
        auto_decompress=auto_decompress,
        shutdown_timeout=_SHUTDOWN_S,
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, _HOST, port).start()
    except OSError as err:
        await runner.cleanup()
        raise InputError(f"{_HOST}:{port}", f"cannot listen ({err.strerror})", "choose another port, or 0") from None
    return Listening(f"http://{_HOST}:{runner.addresses[0][1]}", runner)
