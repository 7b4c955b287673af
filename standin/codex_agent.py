"""A scripted Codex: talks over a WebSocket, or POSTs where that is refused or not wanted, runs its tool calls, spawns
and re-tasks threads.

`wait_agent` hands over the next report in the order the threads were started (so that the same seed always gives the
same conversation); the report joins as an agent_message item after the call's output.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import aiohttp
import orjson

from standin import codex_items, codex_wire
from standin.agent_http import AgentError, AgentHttp
from standin.codex_items import Item, ItemMaker
from standin.codex_socket import CodexSocket, UpgradeRefusedError
from standin.codex_wire import CodexIds
from standin.tool_results import ToolResult, shell_result, write_result

_TURN_LIMIT: Final = 60  # answers a turn may take; a script never needs as many


@dataclass(slots=True)
class CodexThread:
    """One agent's thread; `group` owns the tasks of the whole session."""

    http: AgentHttp
    url: str  # with the API version: ".../v1"
    ids: CodexIds
    group: asyncio.TaskGroup
    errors: list[str]
    agents: list[str]
    websocket: bool = True  # False: POST only, as with a provider that is not the client's own
    _socket: CodexSocket | None = None
    _maker: ItemMaker = field(init=False)
    _history: list[Item] = field(default_factory=list)
    _turns: int = 0
    _children: dict[str, CodexThread] = field(default_factory=dict)
    _working: deque[tuple[CodexThread, asyncio.Task[str]]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._maker = ItemMaker(self.ids.thread_id)

    async def prompt(self, text: str) -> str:
        """A user's prompt to its last message."""
        await self._begin(None)
        self._history.append(self._maker.message(self.ids, "user", [("user.text", text)]))
        return await self._run()

    async def task(self, author: CodexIds, text: str) -> str:
        """A parent's task to its last message; a failure becomes that message."""
        try:
            await self._begin(author.turn_id)
            message = self._maker.agent_message(self.ids, author.name, self.ids.name, "NEW_TASK", text)
            self._history.append(message)
            return await self._run()
        except (AgentError, aiohttp.ClientError) as err:
            self.errors.append(str(err))
            return "The agent failed."

    async def _begin(self, parent_turn_id: str | None) -> None:
        self._turns += 1
        self.ids = self.ids.at_turn(self._turns, parent_turn_id)
        if not self._history:
            self._history = self._maker.context(self.ids)
            if self.websocket:
                await self._connect()

    async def _connect(self) -> None:
        headers, prewarm = codex_wire.upgrade_headers(self.ids), codex_wire.prewarm_message(self.ids, "prewarm")
        socket = CodexSocket(self.http, f"{self.url}/responses", headers, prewarm)
        try:
            await socket.ready()
            self._socket = socket
        except UpgradeRefusedError:
            pass

    async def _run(self) -> str:
        turn_state: str | None = None
        for _ in range(_TURN_LIMIT):
            if self._socket:
                items = codex_items.items_of(await self._socket.turn(self._history, self._message))
                self._socket.knows(len(self._history) + len(items))
            else:
                items, turn_state = await self._post(turn_state)
            self._history += [self._maker.echo(self.ids, item) for item in items]
            calls = [item for item in items if "call_id" in item]
            if not calls:
                return _last_text(items)
            for call in calls:
                self._history += await self._run_call(call)
        raise AgentError(f"{self.ids.thread_id}: no end after {_TURN_LIMIT} answers")

    def _message(self, new: Sequence[Item], previous: str | None) -> bytes:
        return codex_wire.turn_message(self.ids, new, previous, len(self._history))

    async def _post(self, turn_state: str | None) -> tuple[list[Item], str | None]:
        """Items, and the state that the turn's later requests repeat."""
        headers = codex_wire.post_headers(self.ids, turn_state)
        body = codex_wire.turn_body(self.ids, self._history)
        reply = await self.http.stream(f"{self.url}/responses", headers, body, codex_items.is_whole)
        return codex_items.read_items(reply.body), turn_state or reply.headers.get("x-codex-turn-state")

    async def _run_call(self, call: Item) -> list[Item]:
        """The call's output item and whatever joins the conversation with it."""
        if call["type"] == "custom_tool_call":
            result = _script_result(call["input"], self.ids.thread_id)
            await asyncio.sleep(result.seconds * self.http.pace.tool_s)
            return [self._maker.custom_output(self.ids, call["call_id"], result.text, result.seconds)]
        arguments = orjson.loads(call["arguments"])
        joined: list[Item] = []
        match call["name"]:
            case "spawn_agent":
                output = self._spawn(arguments["task_name"], arguments["message"])
            case "followup_task":
                output = self._set_to_work(self._children[arguments["target"]], arguments["message"])
            case "wait_agent":
                output, joined = await self._wait()
            case name:
                output = f"{name} is not available."
        return [self._maker.function_output(self.ids, call["call_id"], output), *joined]

    def _spawn(self, task_name: str, message: str) -> str:
        ids = self.ids.child(task_name)
        child = CodexThread(self.http, self.url, ids, self.group, self.errors, self.agents, self.websocket)
        self._children[task_name] = child
        self.agents.append(ids.thread_id)
        self._set_to_work(child, message)
        return orjson.dumps({"task_name": ids.name}).decode()

    def _set_to_work(self, child: CodexThread, message: str) -> str:
        self._working.append((child, self.group.create_task(child.task(self.ids, message))))
        return ""

    async def _wait(self) -> tuple[str, list[Item]]:
        if not self._working:
            return '{"message":"Nothing to wait for.","timed_out":true}', []
        child, task = self._working.popleft()
        text = await task
        joined = self._maker.agent_message(self.ids, child.ids.name, self.ids.name, "FINAL_ANSWER", text)
        return '{"message":"Wait completed.","timed_out":false}', [joined]


def _last_text(items: list[Item]) -> str:
    texts = [part["text"] for item in items if item["type"] == "message" for part in item["content"]]
    return "\n".join(texts)


def _script_result(script: str, *seed: object) -> ToolResult:
    if "apply_patch" in script:
        return write_result("the patched files", *seed)
    command = script.split('cmd: "', 1)[-1].split('"', 1)[0]
    return shell_result(command, *seed)
