"""The engine over HTTP."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import numpy as np
import orjson
import pytest
import pytest_asyncio
from numpy.typing import NDArray

from standin.engine import EngineSettings, start_engine
from standin.engine_prompts import MESSAGE_TOKENS, REPLY_TOKENS
from standin.engine_scheduler import Speed
from wire.sse import split_sse


class Bytes:
    vocab_size = 100_000

    def encode(self, text: str) -> NDArray[np.uint32]:
        return np.frombuffer(text.encode(), dtype=np.uint8).astype(np.uint32)


class Client:
    def __init__(self, http: aiohttp.ClientSession, url: str) -> None:
        self.http, self.url = http, url

    async def post(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        async with self.http.post(self.url + path, data=orjson.dumps(body)) as reply:
            return reply.status, await reply.read()

    async def complete(self, ids: list[int], **more: Any) -> dict[str, Any]:
        body = {"model": "standin", "prompt": ids, "max_tokens": 4, "ignore_eos": True} | more
        status, raw = await self.post("/v1/completions", body)
        assert status == 200, raw
        answer: dict[str, Any] = orjson.loads(raw)
        return answer

    async def metrics(self) -> dict[str, float]:
        async with self.http.get(self.url + "/metrics") as reply:
            lines = (await reply.text()).splitlines()
        rows = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        return {name.split("{")[0]: float(value) for name, value in rows}


@pytest_asyncio.fixture
async def client() -> AsyncIterator[Client]:
    engine = await start_engine(EngineSettings(context_tokens=200_000), Bytes())
    async with aiohttp.ClientSession() as http:
        yield Client(http, engine.url)
    await engine.close()


def cached(answer: dict[str, Any]) -> int:
    return int(answer["usage"]["prompt_tokens_details"]["cached_tokens"])


async def test_prompt_tokens_are_exact_and_cached_tokens_are_whole_blocks(client: Client) -> None:
    prefix = list(range(4000))
    answers = [await client.complete([*prefix, *[50_000 + n] * 100]) for n in range(3)]
    assert [a["usage"]["prompt_tokens"] for a in answers] == [4100] * 3
    assert [cached(a) for a in answers] == [0, 3968, 3968]


async def test_a_prompt_of_a_hundred_thousand_ids_is_served(client: Client) -> None:
    ids = [*range(99_999), 7]
    first, second = [await client.complete(ids) for _ in range(2)]
    assert (cached(first), cached(second)) == (0, 99_968)


async def test_reset_prefix_cache_starts_over(client: Client) -> None:
    await client.complete([1] * 200)
    assert (await client.post("/reset_prefix_cache", {}))[0] == 200
    assert cached(await client.complete([1] * 200)) == 0


async def test_lru_eviction_at_a_small_capacity() -> None:
    engine = await start_engine(EngineSettings(capacity_tokens=640), Bytes())
    async with aiohttp.ClientSession() as http:
        client = Client(http, engine.url)
        hits = [cached(await client.complete([n] * 321)) for n in (1, 2, 1, 3, 2)]
    await engine.close()
    assert hits == [0, 0, 320, 0, 0]


@pytest.mark.parametrize("include_usage", [True, False])
async def test_a_stream_has_one_chunk_a_token_and_ends_with_usage_when_asked(
    client: Client, include_usage: bool
) -> None:
    body = {"model": "standin", "prompt": [1] * 100, "max_tokens": 20, "min_tokens": 20, "stream": True}
    if include_usage:
        body["stream_options"] = {"include_usage": True}
    _, raw = await client.post("/v1/completions", body)
    events = [event.data for event in split_sse(raw)]
    assert events[-1] == b"[DONE]"
    chunks = [orjson.loads(data) for data in events[:-1]]
    usages = [chunk["usage"] for chunk in chunks if not chunk["choices"]]
    assert sum(bool(chunk["choices"]) for chunk in chunks) == 20
    assert [u["completion_tokens"] for u in usages] == ([20] if include_usage else [])
    assert chunks[19]["choices"][0]["finish_reason"] == "length"


async def test_chat_streams_and_plain_chat_say_the_same(client: Client) -> None:
    body = {"model": "standin", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 9, "ignore_eos": True}
    _, raw = await client.post("/v1/chat/completions", body)
    whole = orjson.loads(raw)
    _, raw = await client.post("/v1/chat/completions", body | {"stream": True})
    chunks = [orjson.loads(event.data) for event in split_sse(raw)[:-1]]
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    text = "".join(chunk["choices"][0]["delta"]["content"] for chunk in chunks)
    assert whole["choices"][0]["message"]["content"] == text
    assert whole["usage"]["completion_tokens"] == 9


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (
            "/v1/chat/completions",
            {"messages": [{"role": "system", "content": "be"}, {"role": "user", "content": "do"}]},
        ),
        ("/v1/messages", {"system": "be", "messages": [{"role": "user", "content": "do"}]}),
        ("/v1/responses", {"instructions": "be", "input": "do"}),
    ],
)
async def test_every_api_frames_a_conversation_alike(client: Client, path: str, body: dict[str, Any]) -> None:
    limit = "max_output_tokens" if path.endswith("responses") else "max_tokens"
    status, raw = await client.post(path, {"model": "standin", limit: 5, **body})
    assert status == 200, raw
    usage = orjson.loads(raw)["usage"]
    assert usage.get("prompt_tokens", usage.get("input_tokens")) == 4 + 2 * MESSAGE_TOKENS + REPLY_TOKENS
    assert usage.get("completion_tokens", usage.get("output_tokens")) == 5
    _, streamed = await client.post(path, {"model": "standin", limit: 5, "stream": True, **body})
    assert streamed.count(b"data: ") >= 6


async def test_refusals_have_the_status_and_shape_of_the_real_server(client: Client) -> None:
    for body, status in (
        ({"model": "other", "prompt": "a"}, 404),
        ({"model": "standin", "prompt": [100_000]}, 400),
        ({"model": "standin", "prompt": "a", "max_tokens": 200_000}, 400),
    ):
        got, raw = await client.post("/v1/completions", body)
        error = orjson.loads(raw)["error"]
        assert (got, error["code"]) == (status, status)


async def test_metrics_count_what_was_served(client: Client) -> None:
    await client.complete([5] * 200)
    await client.complete([5] * 200)
    got = await client.metrics()
    assert got["vllm:prefix_cache_queries_total"] == got["vllm:prompt_tokens_total"] == 400
    assert got["vllm:prefix_cache_hits_total"] == 192
    assert got["vllm:generation_tokens_total"] == 8
    assert got["vllm:num_requests_running"] == got["vllm:num_requests_waiting"] == 0
    assert got["vllm:time_to_first_token_seconds_count"] == 2


async def test_the_small_endpoints_answer(client: Client) -> None:
    async with client.http.get(client.url + "/v1/models") as reply:
        card = (await reply.json())["data"][0]
    assert (card["id"], card["max_model_len"]) == ("standin", 200_000)
    for path in ("/health", "/version"):
        async with client.http.get(client.url + path) as reply:
            assert reply.status == 200


async def test_a_client_that_leaves_frees_its_place() -> None:
    engine = await start_engine(EngineSettings(speed=Speed(decode_tokens_s=0.001)), Bytes())
    async with aiohttp.ClientSession() as http:
        client = Client(http, engine.url)
        body = {"model": "standin", "prompt": [1] * 10, "max_tokens": 500, "ignore_eos": True, "stream": True}
        async with http.post(engine.url + "/v1/completions", data=orjson.dumps(body)) as reply:
            await reply.content.readany()
            assert (await client.metrics())["vllm:num_requests_running"] == 1
        async with asyncio.timeout(10):
            while (await client.metrics())["vllm:num_requests_running"]:  # the server sees the closed socket shortly
                pass
    await engine.close()
