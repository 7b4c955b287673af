"""The model API over HTTP: both protocols, encodings, faults."""

from typing import Any

import aiohttp
import orjson
import pytest
import zstandard

from standin.listening import Listening
from wire.answer import read_answer
from wire.usage import Usage

TOOLS: list[dict[str, Any]] = [{"name": name, "input_schema": {}} for name in ("Bash", "Read", "Write", "Agent")]


def talk(*texts: str) -> dict[str, Any]:
    messages = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]
    system = [{"type": "text", "text": "s" * 9000, "cache_control": {"type": "ephemeral"}}]
    return {"model": "claude-opus-5-5", "messages": messages, "system": system, "tools": TOOLS, "stream": True}


async def post(url: str, body: dict[str, Any], **headers: str) -> tuple[int, bytes, str]:
    async with aiohttp.ClientSession() as http, http.post(url, data=orjson.dumps(body), headers=headers) as reply:
        return reply.status, await reply.read(), reply.content_type


async def test_cache_read_grows_with_the_conversation_and_stays_below_input(model_api: Listening) -> None:
    texts = ["go [[script:loop]]"]
    seen: list[Usage] = []
    for _ in range(4):
        status, raw, kind = await post(f"{model_api.url}/v1/messages?beta=true", talk(*texts))
        answer = read_answer("anthropic-messages", raw, kind)
        assert status == 200
        assert answer.complete
        assert answer.usage
        seen.append(answer.usage)
        texts += ["word " * 200, "result " * 200]
    reads = [usage.cache_read_tokens or 0 for usage in seen]
    assert reads[0] == 0
    assert reads == sorted(set(reads))
    for usage in seen:
        assert (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0) <= (usage.input_tokens or 0)


async def test_equal_requests_get_equal_answers_with_new_ids(model_api: Listening) -> None:
    answers = [(await post(f"{model_api.url}/v1/messages", talk("[[script:loop]]")))[1] for _ in range(2)]
    one, two = (read_answer("anthropic-messages", raw, "text/event-stream") for raw in answers)
    assert [part.text for part in one.parts if part.kind == "assistant"] == [
        part.text for part in two.parts if part.kind == "assistant"
    ]
    assert one.message_id != two.message_id


async def test_a_request_that_does_not_stream_gets_one_json_message(model_api: Listening) -> None:
    _, raw, kind = await post(f"{model_api.url}/v1/messages", talk("[[script:hello]]") | {"stream": False})
    assert kind == "application/json"
    assert orjson.loads(raw)["stop_reason"] == "end_turn"


async def test_count_tokens_agrees_with_the_answer_and_stores_nothing(model_api: Listening) -> None:
    _, raw, _ = await post(f"{model_api.url}/v1/messages/count_tokens", talk("hello"))
    _, stream, kind = await post(f"{model_api.url}/v1/messages", talk("hello"))
    usage = read_answer("anthropic-messages", stream, kind).usage
    assert usage
    assert (orjson.loads(raw)["input_tokens"], 0) == (usage.input_tokens, usage.cache_read_tokens)


async def test_zstd_request_bodies_are_understood(model_api: Listening) -> None:
    tools = {"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}]}
    items = [{"type": "additional_tools", "tools": [tools]}, {"role": "user", "content": "[[script:loop]]"}]
    raw = zstandard.compress(orjson.dumps({"model": "gpt-6.2-sol", "input": items, "stream": True}))
    headers = {"Content-Encoding": "zstd", "Content-Type": "application/json"}
    url = f"{model_api.url}/v1/responses"
    async with aiohttp.ClientSession() as http, http.post(url, data=raw, headers=headers) as reply:
        answer = read_answer("openai-responses", await reply.read(), reply.content_type)
    assert [part.name for part in answer.parts if part.kind == "tool_call"] == ["exec"]


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses"])
async def test_a_broken_body_is_refused_in_the_providers_shape(model_api: Listening, path: str) -> None:
    async with aiohttp.ClientSession() as http, http.post(model_api.url + path, data=b"{") as reply:
        assert reply.status == 400
        assert (await reply.json())["error"]["type"] == "invalid_request_error"


async def test_each_fault_of_a_step_is_played_once_and_then_it_answers(model_api: Listening) -> None:
    url = f"{model_api.url}/v1/messages"
    assert [(await post(url, talk("[[script:bumpy]]")))[0] for _ in range(3)] == [429, 529, 200]
    with pytest.raises(aiohttp.ClientError):
        await post(url, talk("[[script:bumpy]]", "a", "b"))
    assert (await post(url, talk("[[script:bumpy]]", "a", "b")))[0] == 200
    _, raw, kind = await post(url, talk("[[script:bumpy]]", "a", "b", "c", "d"))
    assert read_answer("anthropic-messages", raw, kind).error == "overloaded_error"
    with pytest.raises(aiohttp.ClientError):  # cut before the head
        await post(url, talk("[[script:bumpy]]", "a", "b", "c", "d"))
