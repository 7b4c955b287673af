"""A scripted Claude Code against the model API."""

import asyncio
from typing import Any

import orjson

from standin import claude_wire
from standin.agent_http import AgentHttp, AgentPace
from standin.claude_agent import ClaudeAgent, Report
from standin.listening import Listening

Sent = Any  # conftest's record; test folders are no packages, so it can't be imported


async def run(server: Listening, script: str) -> tuple[Report, ClaudeAgent]:
    async with AgentHttp(AgentPace()) as http, asyncio.TaskGroup() as group:
        agent = ClaudeAgent(http, server.url, claude_wire.new_session(script), group, [], [])
        return await agent.run(f"go [[script:{script}]]"), agent


def by_agent(sent: list[Sent]) -> dict[str | None, list[Sent]]:
    out: dict[str | None, list[Sent]] = {}
    for one in sent:
        out.setdefault(one.header("x-claude-code-agent-id"), []).append(one)
    return out


def texts(message: dict[str, Any]) -> str:
    return orjson.dumps(message).decode()


async def test_a_tool_loop_repeats_everything_and_adds_to_it(model_api: Listening, sent: list[Sent]) -> None:
    report, agent = await run(model_api, "loop")
    assert report.text.startswith("The loop is finished.")
    assert report.tools == 6
    assert not agent.errors
    histories = [one.json["messages"] for one in sent]
    assert [len(history) for history in histories] == [2, 4, 6, 8, 10, 12]
    thinking = [b for b in histories[-1][2]["content"] if b["type"] == "thinking"]
    assert thinking[0]["signature"]


async def test_a_blocking_agent_reports_in_its_tool_result(model_api: Listening, sent: list[Sent]) -> None:
    _, agent = await run(model_api, "delegate")
    (child,) = agent.agents
    groups = by_agent(sent)
    assert len(groups[child]) == 3
    assert f"agentId: {child}" in texts(groups[None][1].json["messages"][-1])
    assert sent.index(groups[None][1]) > sent.index(groups[child][-1])
    assert {one.header("x-claude-code-parent-agent-id") for one in groups[child]} == {None}


async def test_background_agents_report_by_notification_in_order_of_start(
    model_api: Listening, sent: list[Sent]
) -> None:
    _, agent = await run(model_api, "fan")
    groups = by_agent(sent)
    main = [one.json["messages"][-1] for one in groups[None]]
    assert [f"agentId: {child}" in texts(main[1]) for child in agent.agents] == [True, True]
    assert [f"<task-id>{child}</task-id>" in texts(m) for child, m in zip(agent.agents, main[2:], strict=True)] == [
        True,
        True,
    ]


async def test_a_nested_agent_names_its_parent(model_api: Listening, sent: list[Sent]) -> None:
    _, agent = await run(model_api, "nested")
    outer, inner = agent.agents
    groups = by_agent(sent)
    assert {one.header("x-claude-code-parent-agent-id") for one in groups[inner]} == {outer}
    assert {one.header("x-claude-code-parent-agent-id") for one in groups[outer]} == {None}


async def test_faults_are_survived_with_the_same_bytes(model_api: Listening, sent: list[Sent]) -> None:
    report, agent = await run(model_api, "bumpy")
    assert report.text.startswith("All faults are behind us.")
    assert not agent.errors
    statuses = [one.reply.status for one in sent]
    assert statuses[:3] == [429, 529, 200]
    assert sent[0].body == sent[1].body == sent[2].body


async def test_a_failing_child_is_reported_to_its_parent(model_api: Listening) -> None:
    async with AgentHttp(AgentPace()) as http, asyncio.TaskGroup() as group:
        errors: list[str] = []
        agent = ClaudeAgent(http, model_api.url + "/nowhere", claude_wire.new_session(1), group, errors, [])
        agent.url = model_api.url + "/v1/nothing?"
        report = await agent.run_child("go")
    assert report.text == "The agent failed."
    assert len(errors) == 1
