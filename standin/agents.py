"""Runs scripted agents against a model API, directly or through the recorder: one session for each scenario.

A scenario names the client to imitate and the prompts to type; what happens then is the model's script. Sessions run
one after the other, their sub-agents at the same time. Ids, prompts and tool results follow from the seed, so two runs
send the same bytes (batches that depend on timing are avoided on purpose).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import aiohttp

from corpus.errors import InputError
from standin import claude_wire, codex_wire
from standin.agent_http import AgentError, AgentHttp, AgentPace
from standin.claude_agent import ClaudeAgent
from standin.codex_agent import CodexThread
from standin.prose import title
from standin.scripts import mark

Client = Literal["claude", "codex", "codex-post"]  # the last: with a provider that only takes POSTs

# scenario -> (client, scripts of the prompts typed one after the other)
SCENARIOS: Final[dict[str, tuple[Client, tuple[str, ...]]]] = {
    "claude-loop": ("claude", ("loop", "hello")),
    "claude-blocking": ("claude", ("delegate",)),
    "claude-parallel": ("claude", ("fan",)),
    "claude-nested": ("claude", ("nested",)),
    "claude-faults": ("claude", ("bumpy",)),
    "codex-loop": ("codex", ("loop", "hello")),
    "codex-team": ("codex", ("team",)),
    "codex-post": ("codex-post", ("loop",)),
}


@dataclass(frozen=True, slots=True)
class AgentSession:
    scenario: str
    session_id: str
    agents: tuple[str, ...]  # ids of the sub-agents, in the order they were started
    requests: int  # attempts and probes included


@dataclass(frozen=True, slots=True)
class AgentsReport:
    sessions: tuple[AgentSession, ...]
    errors: tuple[str, ...]

    @property
    def requests(self) -> int:
        return sum(session.requests for session in self.sessions)


@dataclass(slots=True)
class _Run:
    """One session while it runs."""

    http: AgentHttp
    url: str
    seed: str
    errors: list[str] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)


async def run_agents(
    anthropic_url: str,
    openai_url: str,
    *,
    seed: int = 0,
    scenarios: Sequence[str] = tuple(SCENARIOS),
    pace: AgentPace | None = None,
) -> AgentsReport:
    """`openai_url` ends with the API version ("http://127.0.0.1:PORT/v1"), as Codex wants it.

    A session that fails is reported among `errors` and does not stop the others. InputError: an unknown scenario.
    """
    for name in scenarios:
        if name not in SCENARIOS:
            raise InputError(name, "is no scenario", f"choose from {', '.join(SCENARIOS)}")
    sessions, errors = [], []
    for number, name in enumerate(scenarios):
        client, scripts = SCENARIOS[name]
        url = (anthropic_url if client == "claude" else openai_url).rstrip("/")
        async with AgentHttp(pace or AgentPace()) as http:
            run = _Run(http, url, f"{seed}/{number}/{name}")
            try:
                prompts = [_prompt(run.seed, script) for script in scripts]
                if client == "claude":
                    session_id = await _claude(run, prompts)
                else:
                    session_id = await _codex(run, prompts, websocket=client == "codex")
            except (AgentError, aiohttp.ClientError, ExceptionGroup) as err:
                run.errors.append(str(err))
                session_id = ""
        sessions.append(AgentSession(name, session_id, tuple(run.agents), http.requests))
        errors += [f"{name}: {problem}" for problem in run.errors]
    return AgentsReport(tuple(sessions), tuple(errors))


def _prompt(seed: str, script: str) -> str:
    return f"Please look after the {title(seed, script).lower()}. {mark(script)}"


async def _claude(run: _Run, prompts: list[str]) -> str:
    ids = claude_wire.new_session(run.seed)
    await run.http.once("HEAD", f"{run.url}/api/hello", claude_wire.PROBE_HEADERS)
    async with asyncio.TaskGroup() as group:
        agent = ClaudeAgent(run.http, run.url, ids, group, run.errors, run.agents)
        titled = group.create_task(agent.title(prompts[0]))
        await asyncio.sleep(0)  # let the title request leave first, as it does in reality
        await _type(run, prompts, agent)
        await titled
    return ids.session_id


async def _codex(run: _Run, prompts: list[str], *, websocket: bool) -> str:
    ids = codex_wire.new_session(run.seed)
    async with asyncio.TaskGroup() as group:
        await _type(run, prompts, CodexThread(run.http, run.url, ids, group, run.errors, run.agents, websocket))
    return ids.session_id


async def _type(run: _Run, prompts: list[str], agent: ClaudeAgent | CodexThread) -> None:
    for number, prompt in enumerate(prompts):
        if number:
            await asyncio.sleep(run.http.pace.think_s)
        if isinstance(agent, ClaudeAgent):
            await agent.run(prompt)
        else:
            await agent.prompt(prompt)
