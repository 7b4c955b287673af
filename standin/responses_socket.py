"""The model API's WebSocket: OpenAI Responses turns, one JSON message each way at a time.

A turn goes on from a response of this connection or brings its whole input; so the connection remembers what was said,
and the model is asked as if all of it had been posted. What a script refuses becomes an error message with the status
that HTTP would have had; what it cuts, a dropped line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import orjson
from aiohttp import WSMsgType, web

from standin import responses_answers
from standin.choice import Choice
from standin.events import Frame, Names
from standin.provider_usage import Counted
from standin.refusals import CREATED_S, openai_error
from standin.scripts import Cut, Fault, Refuse
from wire.errors import WireError
from wire.jsonbody import parse_object, write_json
from wire.prompt_openai import input_items
from wire.turns import CREATE, output_items, previous_response_id, whole_request

_MESSAGE_LIMIT: Final = 256 << 20  # bytes

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """What the script has in store for one turn."""

    choice: Choice
    fault: Fault | None
    frames: tuple[Frame, ...]
    error: Frame | None  # the event to break off with, when the script wants one


Play = Callable[[bytes, tuple[str, ...]], Turn]  # whole body, who asks


class ResponsesSocket:
    """`play` decides a turn; the rest is its pace."""

    def __init__(self, play: Play, first_token_s: float, tokens_s: float) -> None:
        self._play = play
        self._first_token_s = first_token_s
        self._tokens_s = tokens_s

    async def serve(self, request: web.Request, who: tuple[str, ...]) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(max_msg_size=_MESSAGE_LIMIT)
        socket.headers["x-codex-turn-state"] = Names("/".join(who)).make("ts_", 24)
        await socket.prepare(request)
        said: dict[str, list[Item]] = {}
        async for message in socket:
            if message.type is not WSMsgType.TEXT:
                continue
            try:
                alive = await self._turn(request, socket, message.data.encode(), who, said)
            except WireError as err:
                alive = await _send_error(socket, 400, str(err))
            if not alive:
                break
        return socket

    async def _turn(
        self,
        request: web.Request,
        socket: web.WebSocketResponse,
        message: bytes,
        who: tuple[str, ...],
        said: dict[str, list[Item]],
    ) -> bool:
        """Whether the line is still there."""
        asked = parse_object(message)
        if asked.get("type") != CREATE:
            raise WireError("messages of this type are not known")
        before = said.get(previous_response_id(asked) or "", [])
        if not before and previous_response_id(asked) not in {None, *said}:
            raise WireError("the response to go on from is not known here")
        whole = whole_request(asked, before)
        if asked.get("generate") is False:
            frames, cut = _warm_up(str(asked.get("model")), Names("/".join((*who, str(len(said)))))), False
            await self._send(socket, frames)
        else:
            frames, cut = await self._played(socket, self._play(write_json(whole).encode(), who))
        if cut:
            _drop(request)
            return False
        messages = [frame.data for frame in frames]
        last = orjson.loads(messages[-1]) if messages else {}
        if last.get("type") == "response.completed":
            said[last["response"]["id"]] = [*input_items(whole), *output_items(messages)]
        return True

    async def _played(self, socket: web.WebSocketResponse, turn: Turn) -> tuple[tuple[Frame, ...], bool]:
        """The frames sent, and whether the line is to be cut behind them."""
        if isinstance(turn.fault, Refuse):
            await _send_error(socket, turn.fault.status, "The script says so.", turn.fault.retry_after_s)
            return (), False
        frames: tuple[Frame, ...] = turn.frames
        if isinstance(turn.fault, Cut):
            frames = turn.frames[: turn.fault.after_events]
        elif turn.error:
            frames = (*turn.frames[: len(turn.frames) // 2], turn.error)
        await asyncio.sleep(self._first_token_s + turn.choice.plan.delay_s if frames else 0)
        await self._send(socket, frames)
        return frames, isinstance(turn.fault, Cut)

    async def _send(self, socket: web.WebSocketResponse, frames: Iterable[Frame]) -> None:
        for frame in frames:
            if frame.tokens:
                await asyncio.sleep(frame.tokens / self._tokens_s)
            await socket.send_str(frame.data.decode())


def _warm_up(model: str, names: Names) -> tuple[Frame, ...]:
    """A turn that generates nothing: it readies the connection and has a name to go on from."""
    used = responses_answers.usage(Counted(0, 0, ""), [], at_least=0)
    return tuple(responses_answers.frames(model, [], names, used, CREATED_S))


async def _send_error(
    socket: web.WebSocketResponse, status: int, message: str, retry_after_s: int | None = None
) -> bool:
    headers = {} if retry_after_s is None else {"retry-after": str(retry_after_s)}
    error = {"type": "error", "status": status, "error": openai_error(status, message), "headers": headers}
    await socket.send_str(orjson.dumps(error).decode())
    return True


def _drop(request: web.Request) -> None:
    if request.transport:
        request.transport.abort()
