"""Requests leave exactly as given and are repeated byte for byte."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from aiohttp import web

from standin.agent_http import AgentError, AgentHttp, AgentPace
from standin.listening import Listening, listen


class Server:
    """Answers from a list of (status, body) and keeps what it heard."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, bytes]] = []
        self.heard: list[tuple[list[str], bytes]] = []
        self.listening: Listening | None = None

    async def handle(self, request: web.Request) -> web.Response:
        names = [name.decode() for name, _ in request.raw_headers]
        self.heard.append((names, await request.read()))
        status, body = self.answers.pop(0) if self.answers else (200, b"whole")
        if status == 0:
            assert request.transport
            request.transport.abort()
        return web.Response(status=status or 200, body=body, headers={"Retry-After": "0"})

    @property
    def url(self) -> str:
        assert self.listening
        return self.listening.url


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Server]:
    out = Server()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", out.handle)
    out.listening = await listen(app, 0)
    yield out
    await out.listening.close()


HEADERS = [("Accept", "a"), ("X-Odd-One", "1"), ("Host", ""), ("Accept-Encoding", "gzip"), ("Content-Length", "")]


async def test_headers_are_those_given_in_their_order_and_spelling(server: Server) -> None:
    async with AgentHttp(AgentPace()) as http:
        await http.stream(server.url, HEADERS, b"body", lambda data: data == b"whole")
    assert server.heard == [([name for name, _ in HEADERS], b"body")]


async def test_what_a_client_retries_is_retried_with_the_same_bytes(server: Server) -> None:
    server.answers = [(429, b""), (529, b""), (500, b""), (0, b""), (200, b"cut")]
    async with AgentHttp(AgentPace()) as http:
        reply = await http.stream(server.url, HEADERS, b"body", lambda data: data == b"whole")
        assert http.requests == 6
    assert reply.body == b"whole"
    assert {body for _, body in server.heard} == {b"body"}


@pytest.mark.parametrize("answers", [[(404, b"")], [(400, b"")], [(500, b"")] * 6, [(200, b"cut")] * 6])
async def test_a_request_that_fails_for_good_is_an_error(server: Server, answers: list[tuple[int, bytes]]) -> None:
    server.answers = answers.copy()
    async with AgentHttp(AgentPace()) as http:
        with pytest.raises(AgentError):
            await http.stream(server.url, HEADERS, b"body", lambda data: data == b"whole")
    assert len(server.heard) == len(answers)
