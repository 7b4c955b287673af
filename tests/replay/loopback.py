"""A small inference server on loopback that counts what it is sent, with scripted misbehaviour."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

Misbehave = Callable[["Server", web.Request, dict[str, Any]], Awaitable[web.StreamResponse | None]]


@dataclass
class Server:
    """`bodies` are the request bodies in the order of arrival, the replay's own test request included."""

    model: str = "m"
    usage: bool = True
    misbehave: Misbehave | None = None
    metrics: str | None = None  # a page of Prometheus metrics
    metrics_path: str = "/metrics"
    models: Any = None  # the list of models
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""
    site: web.TCPSite | None = None
    _prefixes: set[int] = field(default_factory=set)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read())
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        if self.misbehave and (response := await self.misbehave(self, request, body)):
            return response
        if body["model"] != self.model:
            return refusal(404, f"The model `{body['model']}` does not exist.")
        response = await begin(request)
        tokens = body["max_tokens"]
        for number in range(tokens):
            await response.write(chunk(body, "length" if number == tokens - 1 else None))
        if self.usage:
            await response.write(event({"choices": [], "usage": self.count(body)}))
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response

    async def stop_listening(self) -> None:
        """Connections that are open stay so."""
        if self.site is not None and self.site._server is not None:
            self.site._server.close()

    async def page(self, _request: web.Request) -> web.Response:
        return web.Response(status=404) if self.metrics is None else web.Response(text=self.metrics)

    async def list_models(self, _request: web.Request) -> web.Response:
        return web.Response(status=404) if self.models is None else web.json_response(self.models)

    async def flush(self, _request: web.Request) -> web.Response:
        self._prefixes.clear()
        return web.Response()

    def count(self, body: dict[str, Any]) -> dict[str, Any]:
        """Usage with a prefix cache of blocks of 64 ids; a chat message counts its words."""
        if "prompt" not in body:
            words = sum(len(message["content"].split()) for message in body["messages"])
            return {"prompt_tokens": words, "completion_tokens": body["max_tokens"]}
        ids = body["prompt"]
        chain, keys = 0, []
        for start in range(0, len(ids) - 63, 64):
            chain = hash((chain, *ids[start : start + 64]))
            keys.append(chain)
        hits = sum(key in self._prefixes for key in keys[: (len(ids) - 1) // 64])
        self._prefixes.update(keys)
        details = {"cached_tokens": hits * 64}
        return {
            "prompt_tokens": len(ids),
            "completion_tokens": body["max_tokens"],
            "prompt_tokens_details": details,
        }


async def begin(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    return response


def chunk(body: dict[str, Any], finish: str | None = None) -> bytes:
    said = {"text": " a"} if "prompt" in body else {"delta": {"content": " a"}}
    return event({"choices": [{**said, "finish_reason": finish}]})


def event(value: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(value) + b"\n\n"


def refusal(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "code": status}}, status=status)


async def hang(_server: Server, _request: web.Request, _body: dict[str, Any]) -> None:
    await asyncio.Event().wait()


@asynccontextmanager
async def serving(server: Server) -> AsyncIterator[Server]:
    app = web.Application(client_max_size=1 << 28)
    app.add_routes([web.post("/v1/completions", server.answer), web.post("/v1/chat/completions", server.answer)])
    app.add_routes([web.get(server.metrics_path, server.page), web.get("/v1/models", server.list_models)])
    app.add_routes([web.post("/flush_cache", server.flush)])
    runner = web.AppRunner(app, shutdown_timeout=0, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    server.url = f"http://{host}:{port}"
    server.site = site
    try:
        yield server
    finally:
        await runner.cleanup()
