"""A model provider for rehearsals: Anthropic Messages and OpenAI Responses on one port, answers from scripts.

This is the shell: HTTP, pace and faults; a WebSocket's is `responses_socket`. What is answered is decided in `choice`,
how it is written in `anthropic_answers` and `responses_answers`, what it costs in `provider_usage`. Any prefix may
stand before the known paths. It keeps no conversations; it remembers prompt prefixes (as a cache does), how often a
prompt was asked (for new ids) and which faults were played.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from aiohttp import web

from standin import anthropic_answers, responses_answers
from standin.choice import Choice, choose
from standin.events import Frame, Names
from standin.listening import Listening, listen
from standin.provider_usage import Counted, ProviderCache
from standin.refusals import CREATED_S, answer_other, refusal
from standin.responses_socket import ResponsesSocket, Turn
from standin.scripts import Cut, Fault, Refuse, StreamError
from wire.api import Api, api_of
from wire.encoding import decode_body
from wire.errors import WireError
from wire.jsonbody import parse_object
from wire.prompt import read_prompt
from wire.sse import format_sse

_BODY_LIMIT: Final = 256 << 20  # bytes
_SCRIPTED: Final = "The script says so."
_AGENT_HEADERS: Final = ("x-claude-code-session-id", "x-claude-code-agent-id", "session-id", "thread-id")


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast answers come; the default is at once."""

    first_token_s: float = 0.0
    tokens_s: float = math.inf


@dataclass(frozen=True, slots=True)
class _Rendered:
    """An answer ready to send: as one body, or as frames."""

    body: dict[str, Any]
    frames: tuple[Frame, ...]
    headers: dict[str, str]
    error: Frame | None  # the error event to break off with, when the script wants one


@dataclass(frozen=True, slots=True)
class _Played:
    """What the script has in store for one request."""

    choice: Choice
    fault: Fault | None
    rendered: _Rendered
    seed: str  # of the answer's names
    stream: bool


@dataclass(slots=True)
class _ModelApi:
    seed: int
    pace: Pace
    websocket: bool
    cache: ProviderCache = field(default_factory=ProviderCache)
    asked: Counter[str] = field(default_factory=Counter)
    spent: Counter[tuple[object, ...]] = field(default_factory=Counter)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        api = api_of(request.method, request.path)
        try:
            if api in {"anthropic-messages", "openai-responses"}:
                return await self._model_request(request, api)
            if api == "openai-responses-ws" and self.websocket and "upgrade" in request.headers:
                socket = ResponsesSocket(self._turn, self.pace.first_token_s, self.pace.tokens_s)
                return await socket.serve(request, _who(request))
        except WireError as err:
            return refusal(request, 400, str(err))
        return answer_other(request, api)

    async def _model_request(self, request: web.Request, api: Api) -> web.StreamResponse:
        raw = decode_body(await request.read(), request.headers.get("Content-Encoding"))
        if request.path.rstrip("/").endswith("/count_tokens"):
            counted = self.cache.count(read_prompt(api, raw), store=False)
            return web.json_response({"input_tokens": counted.input_tokens})
        played = self._play(api, raw, _who(request))
        fault, rendered = played.fault, played.rendered
        if isinstance(fault, Refuse):
            names = Names(played.seed)
            return refusal(request, fault.status, _SCRIPTED, names=names, retry_after_s=fault.retry_after_s)
        if fault == Cut(0):
            _cut(request)
            return web.Response()
        await asyncio.sleep(self.pace.first_token_s + played.choice.plan.delay_s)
        if not played.stream:
            return web.json_response(rendered.body, headers=rendered.headers)
        return await self._stream(request, rendered, fault)

    def _turn(self, raw: bytes, who: tuple[str, ...]) -> Turn:
        """A turn on a WebSocket, its whole body given."""
        played = self._play("openai-responses", raw, who)
        rendered = played.rendered
        return Turn(played.choice, played.fault, rendered.frames, rendered.error)

    def _play(self, api: Api, raw: bytes, who: tuple[str, ...]) -> _Played:
        body = parse_object(raw)
        counted = self.cache.count(read_prompt(api, raw))
        asked = "/".join((*who, counted.digest))
        self.asked[asked] += 1
        seed = f"{self.seed}/{asked}/{self.asked[asked]}"
        choice = choose(api, body, self.seed, *who)
        fault = self._next_fault((*who, choice.script, choice.at, choice.step), choice)
        rendered = _render(api, body, choice, counted, Names(seed), fault)
        return _Played(choice, fault, rendered, seed, bool(body.get("stream")))

    def _next_fault(self, key: tuple[object, ...], choice: Choice) -> Fault | None:
        spent = self.spent[key]
        if spent >= len(choice.plan.faults):
            return None
        self.spent[key] += 1
        return choice.plan.faults[spent]

    async def _stream(self, request: web.Request, rendered: _Rendered, fault: Fault | None) -> web.StreamResponse:
        """Without a pace every event still leaves in its own write, as a provider's do."""
        head = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
        response = web.StreamResponse(headers=rendered.headers | head)
        await response.prepare(request)
        frames: Iterable[Frame] = rendered.frames
        if isinstance(fault, Cut):
            frames = rendered.frames[: fault.after_events]
        elif rendered.error:
            frames = (*rendered.frames[: len(rendered.frames) // 2], rendered.error)
        for frame in frames:
            if frame.tokens:
                await asyncio.sleep(frame.tokens / self.pace.tokens_s)
            await response.write(format_sse(frame.event, frame.data))
        if isinstance(fault, Cut):
            _cut(request)
        else:
            await response.write_eof()
        return response


def _render(
    api: Api, body: dict[str, Any], choice: Choice, counted: Counted, names: Names, fault: Fault | None
) -> _Rendered:
    model = str(body.get("model"))
    broken = fault.kind if isinstance(fault, StreamError) else None
    if api == "anthropic-messages":
        request_id = names.make("req_01", 22)
        content = anthropic_answers.message_blocks(choice.blocks, names)
        stop = anthropic_answers.stop_reason(choice.blocks)
        caching = b'"cache_control"' in orjson.dumps(body)
        used = anthropic_answers.usage(counted, anthropic_answers.output_tokens(content), caching=caching)
        frames = tuple(anthropic_answers.frames(model, content, names, used, stop))
        error = anthropic_answers.error_frame(broken, request_id) if broken else None
        headers = {"request-id": request_id, "anthropic-organization-id": "00000000-0000-4000-8000-000000000000"}
        return _Rendered(anthropic_answers.whole(model, content, names, used, stop), frames, headers, error)
    output = responses_answers.output_items(choice.blocks, names)
    used = responses_answers.usage(counted, output)
    frames = tuple(responses_answers.frames(model, output, names, used, CREATED_S))
    error = responses_answers.failed_frame(broken, names) if broken else None
    headers = {"x-request-id": names.make("req_", 32), "openai-processing-ms": "12", "openai-version": "2020-10-01"}
    headers["x-codex-turn-state"] = names.make("ts_", 24)
    return _Rendered(responses_answers.whole(model, output, names, used, CREATED_S), frames, headers, error)


def _who(request: web.Request) -> tuple[str, ...]:
    return tuple(request.headers.get(name, "") for name in _AGENT_HEADERS)


def _cut(request: web.Request) -> None:
    """Cut the connection under the client; whatever the handler returns after this is not sent."""
    if request.transport:
        request.transport.abort()


async def start_model_api(
    port: int = 0, *, seed: int = 0, pace: Pace | None = None, websocket: bool = True
) -> Listening:
    """Listen on 127.0.0.1; `.url` is the base for Anthropic clients, `.url + "/v1"` for OpenAI ones.

    Without `websocket` an upgrade is refused the way that makes Codex go on with POST.
    """
    app = web.Application(client_max_size=_BODY_LIMIT)
    app.router.add_route("*", "/{path:.*}", _ModelApi(seed, pace or Pace(), websocket).handle)
    return await listen(app, port, auto_decompress=False)
