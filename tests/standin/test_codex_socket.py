"""The scripted Codex's connection: what it repeats, what it does not, and when it gives up."""

import asyncio
from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from standin import codex_wire
from standin.agent_http import AgentError, AgentHttp, AgentPace
from standin.codex_items import ItemMaker, items_of
from standin.codex_socket import CodexSocket, UpgradeRefusedError
from standin.listening import Listening

IDS = codex_wire.new_session("socket").at_turn(1)


class Thread:
    """A socket, and what was asked over it."""

    def __init__(self, http: AgentHttp, server: Listening) -> None:
        prewarm = codex_wire.prewarm_message(IDS)
        self.socket = CodexSocket(http, f"{server.url}/v1/responses", codex_wire.upgrade_headers(IDS), prewarm)
        self.asked: list[dict[str, Any]] = []
        maker = ItemMaker(IDS.thread_id)
        self.history = maker.context(IDS)
        self.maker = maker

    async def turn(self, *texts: str) -> list[dict[str, Any]]:
        self.history += [self.maker.message(IDS, "user", [("user.text", text)]) for text in texts]
        items = items_of(await self.socket.turn(self.history, self._ask))
        self.socket.knows(len(self.history) + len(items))
        self.history += [self.maker.echo(IDS, item) for item in items]
        return items

    def _ask(self, new: Sequence[Any], previous: str | None) -> bytes:
        message = codex_wire.turn_message(IDS, new, previous)
        self.asked.append(orjson.loads(message))
        return message


async def test_the_first_turn_goes_on_from_the_prewarm_and_later_ones_say_what_is_new(model_api: Listening) -> None:
    async with AgentHttp(AgentPace()) as http:
        thread = Thread(http, model_api)
        await thread.socket.ready()
        await thread.turn("go [[script:hello]]")
        known = len(thread.history)
        await thread.turn("more")
    assert [len(asked["input"]) for asked in thread.asked] == [known - 1, 1]
    assert all(asked["previous_response_id"] for asked in thread.asked)


async def test_after_a_fault_everything_is_said_again(model_api: Listening) -> None:
    async with AgentHttp(AgentPace()) as http:
        thread = Thread(http, model_api)
        await thread.socket.ready()
        items = await thread.turn("go [[script:bumpy]]")
    assert [item["type"] for item in items] == ["reasoning", "custom_tool_call"]
    first, again, last = thread.asked  # the script refuses twice
    assert first["input"] == again["input"] == last["input"]
    assert "previous_response_id" in first
    assert "previous_response_id" not in again


async def test_a_refused_upgrade_is_told(posting_api: Listening) -> None:
    async with AgentHttp(AgentPace()) as http:
        with pytest.raises(UpgradeRefusedError):
            await Thread(http, posting_api).socket.ready()


async def test_it_gives_up_on_a_server_that_is_gone(model_api: Listening) -> None:
    async with AgentHttp(AgentPace()) as http:
        thread = Thread(http, model_api)
        await thread.socket.ready()
        await model_api.close()
        with pytest.raises(AgentError, match="WebSocket"):
            await asyncio.wait_for(thread.turn("go [[script:hello]]"), 20)
