"""What servers say of themselves, over loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from corpus.errors import InputError
from replay.engines import ENGINES
from replay.server import check_reachable, look_at, reset_cache


@asynccontextmanager
async def serving(models: Any = None, *, reset: str = "", status: int = 200) -> AsyncIterator[tuple[str, list[str]]]:
    heard: list[str] = []

    async def answer_models(request: web.Request) -> web.Response:
        heard.append(request.headers.get("Authorization", ""))
        return web.json_response(models) if models is not None else web.Response(status=404, text="<html>")

    async def answer_reset(request: web.Request) -> web.Response:
        heard.append(request.path)
        return web.Response(status=status)

    app = web.Application()
    app.add_routes([web.get("/v1/models", answer_models)])
    if reset:
        app.add_routes([web.post(reset, answer_reset)])
    runner = web.AppRunner(app, shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"http://{host}:{port}", heard
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("suffix", ["", "/", "/v1"])
async def test_a_server_is_recognised_and_asked_with_the_users_headers(suffix: str) -> None:
    models = {"data": [{"id": "m", "owned_by": "sglang", "max_model_len": 4096}]}
    async with serving(models) as (url, heard):
        facts = await look_at(url + suffix, "m", {"Authorization": "Bearer x"})
    assert (facts.engine.name, facts.context_tokens, heard) == ("sglang", 4096, ["Bearer x"])


async def test_the_engine_that_the_user_names_is_believed() -> None:
    async with serving({"data": [{"id": "m", "owned_by": "sglang"}]}) as (url, _):
        assert (await look_at(url, "m", {}, ENGINES["trtllm"])).engine.name == "trtllm"


async def test_a_server_that_says_nothing_is_taken_for_one_like_vllm() -> None:
    async with serving() as (url, _):
        assert (await look_at(url, "m", {})).engine.name == "vllm"
    assert (await look_at(url, "m", {})).context_tokens is None  # gone by now


async def test_cache_is_emptied_by_the_engines_own_path() -> None:
    async with serving(reset="/reset_prefix_cache") as (url, heard):
        assert await reset_cache(url, ENGINES["vllm"], {}) == ""
    assert heard == ["/reset_prefix_cache"]


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        ("dynamo", "Dynamo empties its cache only by a restart of its workers"),
        ("vllm", "HTTP 404 for /reset_prefix_cache; it needs VLLM_SERVER_DEV_MODE=1"),
        ("sglang", "HTTP 503 for /flush_cache"),
    ],
)
async def test_why_a_cache_was_not_emptied_is_told(engine: Any, said: str) -> None:
    async with serving(reset="/flush_cache", status=503) as (url, _):
        assert await reset_cache(url, ENGINES[engine], {}) == said


async def test_a_server_that_is_not_there_is_told() -> None:
    async with serving() as (url, heard):
        await check_reachable(url + "/v1")
        assert heard == []
    with pytest.raises(InputError, match=r"cannot reach the server \(.+\)"):
        await check_reachable(url)
