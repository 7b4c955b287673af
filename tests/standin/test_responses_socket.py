"""The model API over a WebSocket."""

from typing import Any

import aiohttp
import orjson
import pytest

from standin.listening import Listening
from wire.answer import read_messages
from wire.turns import ENDINGS, message_type, output_items, response_id

TOOLS = {"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}]}
CONTEXT = {"type": "additional_tools", "tools": [TOOLS]}


def said(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


class Line:
    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def turn(self, *items: dict[str, Any], **fields: object) -> list[bytes]:
        await self.socket.send_json({"type": "response.create", "model": "m", "input": list(items)} | fields)
        return await self.answer()

    async def answer(self) -> list[bytes]:
        messages: list[bytes] = []
        while not messages or message_type(messages[-1]) not in ENDINGS:
            messages.append((await self.socket.receive_str()).encode())
        return messages


async def test_a_prewarm_generates_nothing_and_can_be_gone_on_from(model_api: Listening) -> None:
    async with aiohttp.ClientSession() as http, http.ws_connect(f"{model_api.url}/v1/responses") as socket:
        line = Line(socket)
        ready = await line.turn(generate=False)
        usage = read_messages(ready).usage
        assert usage is not None
        assert (usage.input_tokens, usage.output_tokens) == (0, 0)
        assert output_items(ready) == []
        answer = await line.turn(CONTEXT, said("[[script:loop]]"), previous_response_id=response_id(ready))
        assert [item["type"] for item in output_items(answer)] == ["reasoning", "message", "custom_tool_call"]


async def test_a_turn_that_goes_on_is_answered_as_if_all_of_it_was_posted(model_api: Listening) -> None:
    first = [CONTEXT, said("word " * 400 + "[[script:loop]]")]
    async with aiohttp.ClientSession() as http, http.ws_connect(f"{model_api.url}/v1/responses") as socket:
        line = Line(socket)
        one = await line.turn(*first)
        call = output_items(one)[-1]
        result = {"type": "custom_tool_call_output", "call_id": call["call_id"], "output": "done"}
        two = await line.turn(result, previous_response_id=response_id(one))
        whole = {"model": "m", "stream": True, "input": [*first, *output_items(one), result]}
        async with http.post(f"{model_api.url}/v1/responses", data=orjson.dumps(whole)) as posted:
            assert posted.status == 200
            body = await posted.read()
    texts = [item.get("input") for item in output_items(two) if item["type"] == "custom_tool_call"]
    assert len(texts) == 1
    assert orjson.dumps(texts[0])[1:-1] in body
    usage = read_messages(two).usage
    assert usage is not None
    assert (usage.cache_read_tokens or 0) > 0


async def test_faults_are_errors_with_a_status_and_dropped_lines(model_api: Listening) -> None:
    turn = [CONTEXT, said("[[script:bumpy]]")]
    async with aiohttp.ClientSession() as http, http.ws_connect(f"{model_api.url}/v1/responses") as socket:
        line = Line(socket)
        (busy,), (full,) = await line.turn(*turn), await line.turn(*turn)
        call = output_items(await line.turn(*turn))[-1]
        assert [orjson.loads(one)["status"] for one in (busy, full)] == [429, 529]
        assert orjson.loads(busy)["headers"] == {"retry-after": "0"}
        result = {"type": "custom_tool_call_output", "call_id": call["call_id"], "output": "done"}
        with pytest.raises(TypeError):  # the line was cut: what is received is no text
            await line.turn(*turn, call, result)


@pytest.mark.parametrize(
    "message", ["{", "[]", '{"type":"session.update"}', '{"type":"response.create","previous_response_id":"x"}']
)
async def test_what_makes_no_sense_is_refused_and_the_line_stays(model_api: Listening, message: str) -> None:
    async with aiohttp.ClientSession() as http, http.ws_connect(f"{model_api.url}/v1/responses") as socket:
        line = Line(socket)
        await socket.send_str(message)
        (error,) = await line.answer()
        assert orjson.loads(error)["status"] == 400
        assert response_id(await line.turn(said("hello")))
