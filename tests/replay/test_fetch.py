from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from replay.fetch import fetch


@pytest.fixture
async def url() -> object:
    async def page(request: web.Request) -> web.Response:
        return web.Response(text=f"{request.method} {request.headers.get('X-A')} {request.query_string}")

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * (1 << 20))

    async def silent(_request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        return web.Response()

    app = web.Application()
    app.add_routes([web.get("/page", page), web.post("/page", page), web.get("/endless", endless)])
    app.add_routes([web.get("/silent", silent)])
    runner = web.AppRunner(app, shutdown_timeout=0, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    yield f"http://{host}:{port}"
    await runner.cleanup()


async def test_page_comes_whole_with_its_status(url: str) -> None:
    assert await fetch(url + "/page?a=1", timeout_s=10, headers={"X-A": "b"}) == (200, b"GET b a=1")
    assert (await fetch(url + "/nothing", timeout_s=10))[0] == 404


async def test_post_has_no_body(url: str) -> None:
    assert await fetch(url + "/page", timeout_s=10, method="POST") == (200, b"POST None ")


async def test_endless_page_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="larger than 16 MiB"):
        await fetch(url + "/endless", timeout_s=10)


async def test_silent_server_is_a_timeout(url: str) -> None:
    with pytest.raises(TimeoutError):
        await fetch(url + "/silent", timeout_s=0.1)


async def test_nobody_there_is_an_os_error() -> None:
    with pytest.raises(OSError, match="9"):
        await fetch("http://127.0.0.1:9/", timeout_s=10)
