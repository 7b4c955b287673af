from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Any

import pytest
from aiohttp import web

from replay.connection import Clock
from replay.endpoints import ENDPOINTS, request_body
from replay.items import Item
from replay.transport import Outcome, Transport
from tests.replay.loopback import Misbehave, Server, begin, chunk, hang, refusal, serving


def body_of(ids: bytes, output_tokens: int) -> bytes:
    endpoint = ENDPOINTS["completions"]
    return request_body(endpoint, "m", endpoint.lay_out([(Item("user", 0, 1), ids)]), output_tokens, {})


BODY = body_of(b",".join([b"1"] * 130), 3)


async def send(server: Server, body: bytes = BODY, timeout_s: float = 20, times: int = 1) -> list[Outcome]:
    outcomes = []
    async with Transport(server.url, ENDPOINTS["completions"], {"X-Id": "7"}, timeout_s, Clock()) as transport:
        for _ in range(times):
            outcome = Outcome()
            heard: list[int] = []
            await transport.send(body, outcome, heard.append)
            assert heard in ([], [outcome.sent_us])
            outcomes.append(outcome)
    return outcomes


async def one(misbehave: Misbehave, timeout_s: float = 20) -> Outcome:
    async with serving(Server(misbehave=misbehave)) as server:
        (outcome,) = await send(server, timeout_s=timeout_s)
    return outcome


def assert_ordered(outcome: Outcome) -> None:
    times = [outcome.sent_us, outcome.first_token_us, outcome.last_token_us, outcome.end_us]
    known = [time for time in times if time is not None]
    assert known == sorted(known)


async def test_good_answer_has_all_its_times_and_counts() -> None:
    async with serving(Server()) as server:
        first, second = await send(server, times=2)
        assert server.headers[0]["X-Id"] == "7"
    assert (first.error, first.status) == (None, 200)
    assert first.usage is not None
    assert (first.usage.input_tokens, first.usage.output_tokens, first.usage.cache_read_tokens) == (130, 3, 0)
    assert second.usage is not None
    assert second.usage.cache_read_tokens == 128
    assert None not in (first.sent_us, first.first_token_us, first.last_token_us, first.end_us)
    assert_ordered(first)


async def test_large_body_arrives_whole() -> None:
    ids = b",".join([b"12345"] * 400_000)
    async with serving(Server()) as server:
        (outcome,) = await send(server, body_of(ids, 1))
    assert outcome.usage is not None
    assert outcome.usage.input_tokens == 400_000


@pytest.mark.parametrize(
    ("status", "message", "named"),
    [
        (404, "no such model", "http_4xx"),
        (400, "maximum context length is 5", "context_overflow"),
        (503, "busy", "http_5xx"),
    ],
)
async def test_refusal_has_a_class_and_the_servers_words(status: int, message: str, named: str) -> None:
    async def refuse(_s: Server, _r: web.Request, _b: dict[str, Any]) -> web.StreamResponse:
        return refusal(status, message)

    outcome = await one(refuse)
    assert (outcome.status, outcome.error, outcome.detail) == (status, named, message)
    assert_ordered(outcome)
    assert outcome.end_us is not None


@pytest.mark.parametrize("status", [401, 403])
async def test_words_about_a_key_are_not_repeated(status: int) -> None:
    async def refuse(_s: Server, _r: web.Request, _b: dict[str, Any]) -> web.StreamResponse:
        return refusal(status, "Incorrect API key provided: sk-canary")

    outcome = await one(refuse)
    assert (outcome.status, outcome.error) == (status, "http_4xx")
    assert "canary" not in outcome.detail


async def test_server_that_never_answers_is_a_timeout() -> None:
    outcome = await one(hang, timeout_s=0.2)
    assert (outcome.error, outcome.status) == ("timeout", None)
    assert outcome.end_us is not None


async def test_connection_lost_in_the_stream_is_truncated_and_keeps_what_was_seen() -> None:
    async def cut(_s: Server, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        response = await begin(request)
        await response.write(chunk(body))
        await asyncio.sleep(0.05)
        assert request.transport is not None
        request.transport.abort()
        return response

    outcome = await one(cut)
    assert outcome.error == "truncated"
    assert outcome.first_token_us is not None
    assert_ordered(outcome)


async def test_stream_that_ends_without_a_finish_is_truncated() -> None:
    async def stop(_s: Server, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        response = await begin(request)
        await response.write(chunk(body))
        await response.write_eof()
        return response

    assert (await one(stop)).error == "truncated"


async def test_answer_that_is_no_stream_is_truncated_or_bad() -> None:
    async def whole(_s: Server, _r: web.Request, _b: dict[str, Any]) -> web.StreamResponse:
        return web.json_response({"choices": [{"text": "x", "finish_reason": "stop"}]})

    outcome = await one(whole)
    assert outcome.error in ("truncated", "bad_stream")
    assert outcome.status == 200


async def test_nobody_listening_is_a_connect_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        server = Server(url=f"http://127.0.0.1:{taken.getsockname()[1]}")
        (outcome,) = await send(server)
    assert (outcome.error, outcome.status) == ("connect", None)
    assert outcome.sent_us is not None
    assert outcome.end_us is not None


class _ClosingServer:
    """Answers `good` requests on a connection, then reads the next one and closes without a word."""

    def __init__(self, good: int) -> None:
        self.good = good
        self.requests = 0
        self.connections = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(asyncio.IncompleteReadError):
            for _ in range(self.good):
                await self._read_request(reader)
                stream = b'data: {"choices":[{"text":"a","finish_reason":"length"}]}\n\ndata: [DONE]\n\n'
                head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(stream)
                writer.write(head + stream)
            await self._read_request(reader)
        writer.close()

    async def _read_request(self, reader: asyncio.StreamReader) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        (length,) = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
        await reader.readexactly(int(length.split(b":")[1]))
        self.requests += 1


@pytest.mark.parametrize(
    ("good", "errors", "connections", "requests"),
    [
        (1, [None, None], 2, 3),  # the second request meets a kept connection that is closed: sent once more
        (0, ["reset", "reset"], 2, 2),  # a fresh connection is not stale: no second try
    ],
)
async def test_request_on_a_stale_kept_connection_is_sent_once_more(
    good: int, errors: list[str | None], connections: int, requests: int
) -> None:
    closing = _ClosingServer(good)
    listening = await asyncio.start_server(closing.handle, "127.0.0.1", 0)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        outcomes = await send(Server(url=f"http://127.0.0.1:{port}"), times=2)
    assert [outcome.error for outcome in outcomes] == errors
    assert (closing.connections, closing.requests) == (connections, requests)


async def test_cancelled_request_keeps_its_send_time_and_has_no_end() -> None:
    outcome = Outcome()
    sent = asyncio.Event()
    async with (
        serving(Server(misbehave=hang)) as server,
        Transport(server.url, ENDPOINTS["completions"], {}, 20, Clock()) as transport,
    ):
        task = asyncio.ensure_future(transport.send(BODY, outcome, lambda _at: sent.set()))
        await sent.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert outcome.sent_us is not None
    assert outcome.end_us is None
