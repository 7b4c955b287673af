"""A model API on a free port, and everything the agents sent it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import orjson
import pytest
import pytest_asyncio

from standin.agent_http import AgentHttp, Headers, Reply
from standin.listening import Listening
from standin.model_api import start_model_api
from wire.api import Api, api_of


@dataclass(frozen=True)
class Sent:
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    reply: Reply

    @property
    def api(self) -> Api:
        return api_of(self.method, self.path)

    @property
    def json(self) -> dict[str, object]:
        value: dict[str, object] = orjson.loads(self.body)
        return value

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)


@pytest_asyncio.fixture
async def model_api() -> AsyncIterator[Listening]:
    server = await start_model_api(seed=7)
    yield server
    await server.close()


@pytest_asyncio.fixture
async def posting_api() -> AsyncIterator[Listening]:
    """Refuses WebSockets."""
    server = await start_model_api(seed=7, websocket=False)
    yield server
    await server.close()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Sent]:
    """Fills as agents send; in the order of the answers' ends."""
    out: list[Sent] = []
    once = AgentHttp.once

    async def watched(self: AgentHttp, method: str, url: str, headers: Headers, body: bytes = b"") -> Reply:
        reply = await once(self, method, url, headers, body)
        out.append(Sent(method, "/" + url.split("/", 3)[3], tuple(headers), body, reply))
        return reply

    monkeypatch.setattr(AgentHttp, "once", watched)
    return out
