"""A scripted Codex against the model API."""

import asyncio
from itertools import pairwise
from typing import Any

import orjson

from standin import codex_wire
from standin.agent_http import AgentHttp, AgentPace
from standin.codex_agent import CodexThread
from standin.listening import Listening

Sent = Any  # conftest's record; test folders are no packages, so it can't be imported


async def run(server: Listening, *scripts: str) -> tuple[list[str], CodexThread]:
    async with AgentHttp(AgentPace()) as http, asyncio.TaskGroup() as group:
        thread = CodexThread(http, f"{server.url}/v1", codex_wire.new_session(*scripts), group, [], [])
        return [await thread.prompt(f"go [[script:{script}]]") for script in scripts], thread


def posts(sent: list[Sent], thread_id: str) -> list[Sent]:
    return [one for one in sent if one.method == "POST" and one.header("thread-id") == thread_id]


async def test_a_loop_tries_the_websocket_once_and_grows_its_input(posting_api: Listening, sent: list[Sent]) -> None:
    (text,), thread = await run(posting_api, "loop")
    assert text.startswith("The loop is finished.")
    assert [one.reply.status for one in sent] == [200] * 6
    assert thread.http.requests == 6 + 1
    inputs = [one.json["input"] for one in posts(sent, thread.ids.thread_id)]
    for before, after in pairwise(inputs):
        assert after[: len(before)] == before
        assert len(after) > len(before)


async def test_the_turn_state_of_the_first_answer_comes_back_until_the_turn_ends(
    posting_api: Listening, sent: list[Sent]
) -> None:
    await run(posting_api, "loop", "hello")
    states = [one.header("x-codex-turn-state") for one in sent if one.method == "POST"]
    first = sent[0].reply.headers["x-codex-turn-state"]
    assert states == [None, *[first] * 5, None]


async def test_two_threads_are_spawned_waited_for_and_one_is_given_more(
    posting_api: Listening, sent: list[Sent]
) -> None:
    (text,), thread = await run(posting_api, "team")
    assert text.startswith("The team is finished.")
    assert not thread.errors
    alpha, beta = thread.agents
    last = posts(sent, thread.ids.thread_id)[-1].json["input"]
    outputs = [item["output"] for item in last if item["type"] == "function_call_output"]
    assert outputs[:2] == ['{"task_name":"/root/alpha"}', '{"task_name":"/root/beta"}']
    joined = [item["author"] for item in last if item["type"] == "agent_message"]
    assert joined == ["/root/alpha", "/root/beta", "/root/alpha"]
    turns = {one.json["client_metadata"]["turn_id"] for one in posts(sent, alpha)}
    assert len(turns) == 2
    assert len({one.json["client_metadata"]["turn_id"] for one in posts(sent, beta)}) == 1
    for one in posts(sent, alpha) + posts(sent, beta):
        assert one.header("session-id") == thread.ids.session_id
        assert one.header("x-codex-parent-thread-id") == thread.ids.thread_id
        assert one.header("x-openai-subagent") == "collab_spawn"


async def test_a_childs_first_request_holds_its_task(posting_api: Listening, sent: list[Sent]) -> None:
    _, thread = await run(posting_api, "team")
    item = posts(sent, thread.agents[0])[0].json["input"][-1]
    assert item["type"] == "agent_message"
    assert "[[script:leaf]]" in orjson.dumps(item).decode()


async def test_over_a_websocket_the_same_is_said_without_a_post(
    model_api: Listening, posting_api: Listening, sent: list[Sent]
) -> None:
    posted, _ = await run(posting_api, "team")
    sent.clear()
    told, thread = await run(model_api, "team")
    assert told == posted
    assert not thread.errors
    assert sent == []


async def test_a_thread_with_another_provider_does_not_ask_for_a_websocket(
    model_api: Listening, sent: list[Sent]
) -> None:
    async with AgentHttp(AgentPace()) as http, asyncio.TaskGroup() as group:
        ids = codex_wire.new_session("post")
        thread = CodexThread(http, f"{model_api.url}/v1", ids, group, [], [], websocket=False)
        await thread.prompt("go [[script:hello]]")
    assert [one.method for one in sent] == ["POST"]
