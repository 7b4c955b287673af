"""A scripted Claude Code: sends, reads the streamed answer, runs its tool calls, spawns agents, goes on until it ends.

Sub-agents run in the background unless the call says otherwise; their reports come back as task notifications, one a
turn, in the order the agents were started (so that the same seed always gives the same conversation).
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final

from standin import claude_wire
from standin.agent_http import AgentError, AgentHttp
from standin.agent_texts import claude_environment, claude_late_note, claude_reminders
from standin.claude_wire import ClaudeIds, Message
from standin.tool_results import ToolResult, read_result, shell_result, write_result

_TURN_LIMIT: Final = 60  # answers a conversation may take; a script never needs as many


@dataclass(frozen=True, slots=True)
class Report:
    """What an agent hands back to its parent."""

    text: str
    tokens: int
    tools: int
    milliseconds: int


@dataclass(slots=True)
class ClaudeAgent:
    """One conversation; `group` owns the tasks of the whole session."""

    http: AgentHttp
    url: str
    ids: ClaudeIds
    group: asyncio.TaskGroup
    errors: list[str]
    agents: list[str]
    _history: list[Message] = field(default_factory=list)
    _background: deque[tuple[ClaudeIds, str, asyncio.Task[Report]]] = field(default_factory=deque)
    _tools: int = 0
    _chars: int = 0
    _tool_s: float = 0.0

    async def run(self, prompt: str) -> Report:
        """One user prompt (or task) to its end, background agents included."""
        self._ask(prompt)
        for _ in range(_TURN_LIMIT):
            content = await self._send()
            calls = [block for block in content if block["type"] == "tool_use"]
            if calls:
                await self._run_tools(calls)
            elif self._background:
                self._history.append({"role": "user", "content": await self._next_notification()})
            else:
                return self._report(content)
        raise AgentError(f"{self.ids.session_id}: no end after {_TURN_LIMIT} answers")

    async def run_child(self, prompt: str) -> Report:
        """`run`, with a failure turned into a report, as clients do."""
        try:
            return await self.run(prompt)
        except AgentError as err:
            self.errors.append(str(err))
            return Report("The agent failed.", 0, self._tools, 0)

    async def title(self, prompt: str) -> None:
        headers, body = claude_wire.headers(self.ids, title=True), claude_wire.title_body(self.ids, prompt)
        try:
            await self.http.stream(self._endpoint, headers, body, claude_wire.is_whole)
        except AgentError as err:
            self.errors.append(str(err))

    @property
    def _endpoint(self) -> str:
        return f"{self.url}/v1/messages?beta=true"

    def _ask(self, prompt: str) -> None:
        if self._history:
            self._history.append({"role": "user", "content": [{"type": "text", "text": prompt}]})
            return
        texts = (*claude_reminders(), prompt)
        context = claude_environment(self.ids.cwd, main=self.ids.is_main)
        self._history = [
            {"role": "user", "content": [{"type": "text", "text": text} for text in texts]},
            {"role": "system", "content": [{"type": "text", "text": context}], "output_config": {"effort": "medium"}},
        ]

    async def _send(self) -> list[Message]:
        body = claude_wire.turn_body(self.ids, self._history)
        reply = await self.http.stream(self._endpoint, claude_wire.headers(self.ids), body, claude_wire.is_whole)
        content = claude_wire.read_content(reply.body)
        self._history.append({"role": "assistant", "content": content})
        self._chars = len(body) + len(reply.body)
        return content

    async def _run_tools(self, calls: list[Message]) -> None:
        """All calls of one answer at once; their results come back in the order they finished."""
        self._tools += len(calls)
        done = await asyncio.gather(*(self._run_tool(call) for call in calls))
        results = [result for _, result in sorted(done, key=lambda item: item[0])]
        self._history.append({"role": "user", "content": results})
        if not self.ids.is_main and len(self._history) == 4:
            self._history.append({"role": "system", "content": [{"type": "text", "text": claude_late_note()}]})

    async def _run_tool(self, call: Message) -> tuple[float, Message]:
        """The result with the seconds it took at a pace of one; agents count as taking longest."""
        if call["name"] == "Agent":
            return await self._run_agent(call)
        result = _local_result(call["name"], call["input"], self.ids.session_id, self.ids.agent_id)
        self._tool_s += result.seconds
        await asyncio.sleep(result.seconds * self.http.pace.tool_s)
        state = result.is_error if call["name"] == "Bash" else None
        return result.seconds, claude_wire.tool_result(call["id"], result.text, is_error=state)

    async def _run_agent(self, call: Message) -> tuple[float, Message]:
        ids = self.ids.child(call["id"])
        self.agents.append(str(ids.agent_id))
        child = ClaudeAgent(self.http, self.url, ids, self.group, self.errors, self.agents)
        prompt = call["input"]["prompt"]
        if call["input"].get("run_in_background", True):
            self._background.append((ids, call["id"], self.group.create_task(child.run_child(prompt))))
            content = claude_wire.agent_started(str(ids.agent_id))
        else:
            done = await child.run_child(prompt)
            content = claude_wire.agent_finished(
                str(ids.agent_id), done.text, done.tokens, done.tools, done.milliseconds
            )
        return float("inf"), claude_wire.tool_result(call["id"], content)

    async def _next_notification(self) -> list[Message]:
        ids, call_id, task = self._background.popleft()
        done = await task
        return claude_wire.task_notification(
            str(ids.agent_id), call_id, done.text, done.tokens, done.tools, done.milliseconds
        )

    def _report(self, content: list[Message]) -> Report:
        text = "\n".join(block["text"] for block in content if block["type"] == "text")
        return Report(text, self._chars // 4, self._tools, int(self._tool_s * 1000))


def _local_result(name: str, given: dict[str, Any], *seed: object) -> ToolResult:
    match name:
        case "Read":
            return read_result(str(given.get("file_path")), *seed)
        case "Bash":
            return shell_result(str(given.get("command")), *seed)
    return write_result(str(given.get("file_path", name)), *seed)
