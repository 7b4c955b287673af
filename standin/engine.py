"""An inference engine without a GPU: completions, chat, Messages and Responses in front of a simulated scheduler.

This is the shell: HTTP in and out, the event loop's clock, one timer. What is computed when is decided in
`engine_scheduler`, what a request means in `engine_prompts`, what is said in `engine_answers`; the two APIs that are
chats in other words have a module each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson
import xxhash
from aiohttp import web

from standin.engine_answers import Reply
from standin.engine_messages import MessagesReply, chat_of_messages
from standin.engine_metrics import Metrics
from standin.engine_prompts import Ask, ChatForm, RefusedError, TextEncoder, block_keys, read_ask
from standin.engine_responses import ResponsesReply, chat_of_responses
from standin.engine_scheduler import BLOCK_TOKENS, Admitted, Finished, Job, Scheduler, Speed, Token
from standin.listening import Listening, listen

_BODY_LIMIT = 256 << 20  # bytes; a prompt of a million ids is about 7 MB


@dataclass(frozen=True, slots=True)
class EngineSettings:
    model: str = "standin"
    context_tokens: int = 1_048_576
    capacity_tokens: int | None = None  # of the prefix cache; None: unlimited
    speed: Speed = field(default_factory=Speed)
    created_s: int = 0  # the `created` stamp of every answer


@dataclass(slots=True)
class _Ticket:
    """One request's place in the engine: what happened to it since its handler last looked."""

    finish: str
    cached_tokens: int = 0
    fresh: int = 0  # tokens produced and not yet sent
    done: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class _Engine:
    """Runs the scheduler on the event loop's clock and hands its events to the waiting handlers."""

    def __init__(self, settings: EngineSettings) -> None:
        capacity = None if settings.capacity_tokens is None else settings.capacity_tokens // BLOCK_TOKENS
        self.scheduler = Scheduler(settings.speed, capacity)
        self.metrics = Metrics(settings.model, capacity)
        self._tickets: dict[int, _Ticket] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._last = 0

    def submit(self, ask: Ask) -> tuple[int, _Ticket]:
        self.pump()
        loop = asyncio.get_running_loop()
        self._last += 1
        ticket = self._tickets[self._last] = _Ticket(ask.finish)
        self.metrics.submitted(self._last, len(ask.ids), loop.time())
        job = Job(self._last, block_keys(ask.ids), len(ask.ids), ask.output_tokens)
        self.scheduler.submit(loop.time(), job)
        self.pump()
        return self._last, ticket

    def forget(self, number: int) -> None:
        """The handler is gone, because the answer is complete or the client left."""
        if not self._tickets.pop(number).done:
            self.scheduler.abort(number)
            self.metrics.aborted(number)

    def pump(self) -> None:
        loop = asyncio.get_running_loop()
        for event in self.scheduler.advance(loop.time()):
            ticket = self._tickets.get(event.number)
            if ticket is None:
                continue
            self.metrics.happened(event, ticket.finish)
            match event:
                case Admitted(_, _, cached):
                    ticket.cached_tokens = cached
                case Token():
                    ticket.fresh += 1
                case Finished():
                    ticket.done = True
            ticket.changed.set()
        if self._timer:
            self._timer.cancel()
        due = self.scheduler.next_s()
        self._timer = None if due is None else loop.call_at(due, self.pump)

    def close(self) -> None:
        if self._timer:
            self._timer.cancel()


# path -> the body as that of a chat (None: no chat), and how it is answered
_APIS: Final[Mapping[str, tuple[ChatForm | None, type[Reply]]]] = {
    "/v1/completions": (None, Reply),
    "/v1/chat/completions": (lambda body: body, Reply),
    "/v1/messages": (chat_of_messages, MessagesReply),
    "/v1/responses": (chat_of_responses, ResponsesReply),
}


class _Handlers:
    def __init__(self, settings: EngineSettings, encoder: TextEncoder) -> None:
        self.settings = settings
        self.encoder = encoder
        self.engine = _Engine(settings)

    def routes(self) -> list[web.RouteDef]:
        return [
            *(web.post(path, self.answer) for path in _APIS),
            web.get("/v1/models", self.models),
            web.get("/health", self.health),
            web.get("/version", self.version),
            web.post("/reset_prefix_cache", self.reset),
            web.get("/metrics", self.metrics),
        ]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        chat_form, reply_of = _APIS[request.path]
        raw = await request.read()
        asked = self.settings
        try:
            ask = read_ask(
                raw,
                chat_form=chat_form,
                model=asked.model,
                context_tokens=asked.context_tokens,
                encoder=self.encoder,
            )
        except RefusedError as problem:
            return _json(problem.body(), problem.status)
        number, ticket = self.engine.submit(ask)
        reply = reply_of(ask, number, xxhash.xxh3_64_intdigest(ask.ids.tobytes()), asked.created_s)
        try:
            if ask.stream:
                return await _stream(request, reply, ticket)
            while not ticket.done:
                await _news(ticket)
            return _json(reply.whole(ticket.cached_tokens))
        finally:
            self.engine.forget(number)

    async def models(self, _: web.Request) -> web.Response:
        name, context = self.settings.model, self.settings.context_tokens
        card = {"id": name, "object": "model", "created": self.settings.created_s, "owned_by": "agentreel"}
        card |= {"root": name, "parent": None, "max_model_len": context}
        return _json(orjson.dumps({"object": "list", "data": [card]}))

    async def health(self, _: web.Request) -> web.Response:
        return web.Response()

    async def version(self, _: web.Request) -> web.Response:
        return _json(b'{"version":"agentreel-standin"}')

    async def reset(self, _: web.Request) -> web.Response:
        self.engine.scheduler.reset_cache()
        return web.Response()

    async def metrics(self, _: web.Request) -> web.Response:
        self.engine.pump()
        state = self.engine.scheduler
        text = self.engine.metrics.text(running=state.running, waiting=state.waiting, usage=state.cache_usage())
        return web.Response(body=text.encode(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})


async def _stream(request: web.Request, reply: Reply, ticket: _Ticket) -> web.StreamResponse:
    """One chunk for every token; tokens that are ready together leave in one write."""
    headers = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
    response = web.StreamResponse(headers=headers)
    await response.prepare(request)
    sent, lead = 0, reply.opening()
    while not (ticket.done and not ticket.fresh):
        await _news(ticket)
        fresh, ticket.fresh = ticket.fresh, 0
        if fresh:
            await response.write(lead + b"".join(reply.token(sent + i) for i in range(fresh)))
            sent, lead = sent + fresh, b""
    await response.write(reply.closing(ticket.cached_tokens))
    await response.write_eof()
    return response


async def _news(ticket: _Ticket) -> None:
    await ticket.changed.wait()
    if not ticket.done:
        ticket.changed.clear()


def _json(body: bytes, status: int = 200) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json")


async def start_engine(settings: EngineSettings, encoder: TextEncoder, port: int = 0) -> Listening:
    """Listen on 127.0.0.1; the caller closes the handle."""
    handlers = _Handlers(settings, encoder)
    app = web.Application(client_max_size=_BODY_LIMIT)
    app.add_routes(handlers.routes())

    async def stop_timer(_: web.Application) -> None:
        handlers.engine.close()

    app.on_cleanup.append(stop_timer)
    return await listen(app, port)
