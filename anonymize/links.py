"""Who called which tool, where its result came back, and which agent it started: found in the text, kept as integers.

This is the last place that sees text. Claude Code and Codex say in words what no header says: which tool call started
which agent, and in which request the agent's report arrived. Requests are heard one by one in start order; work
follows new content, since text that an agent's prompt held before is not read again.

Rules (reference: Claude Code 2.1 and Codex 0.171 as captured, 2026-11):

| seen | means |
|---|---|
| tool result with a call's id in a later prompt of the calling agent | the call's result |
| `agentId: a...`, or JSON with `task_name` or `agent_id`, in the result of an agent call | the call started the agent |
| a call of `RETASKING` naming a known agent | the call gave that agent new work |
| `<task-notification>` with task and tool-use id; `<subagent_notification>` with an agent id | report, "notification" |
| `agent_message` from an agent that this agent set to work | report, "agent_message" |
| the result of a call of `COLLECTING` naming an agent as finished | report, "tool_result" |

Forks repeat their parent's history, side questions and hooks see it too, so only the conversation that made a call can
receive its result or report. A call whose answer was not captured has no emitting request and is left out.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson

from anonymize.words import tool_class
from corpus.exchange import Purpose
from corpus.session import Delivery, Evidence, ToolCall
from wire.shapes import Part, PartKind

RETASKING: Final = frozenset({"SendMessage", "followup_task", "send_input"})
COLLECTING: Final = frozenset({"wait_agent", "TaskOutput"})
_TARGET_KEYS: Final = ("to", "target", "id", "agent_id", "task_id")
_SPAWNED_KEYS: Final = ("task_name", "agent_id")
_FINISHED: Final = frozenset({"completed", "errored", "shutdown", "failed"})
_MAIN_NAME: Final = "/root"  # of Codex's main agent; helpers without a task name carry it too
# Purposes that are conversations of their own under the id of the agent that they serve
_BESIDE: Final[frozenset[Purpose]] = frozenset(
    {"title", "side_question", "classifier", "web_search", "web_fetch", "memory", "hook", "guardian"}
)
_SPOKEN: Final[frozenset[PartKind]] = frozenset({"user", "reminder"})

_AGENT_ID: Final = re.compile(r"\bagentId: ?([\w-]+)")
_TASK: Final = re.compile(r"<task-notification>(.*?)</task-notification>", re.DOTALL)
_TASK_ID: Final = re.compile(r"<task-id>([^<]*)</task-id>")
_TOOL_USE_ID: Final = re.compile(r"<tool-use-id>([^<]*)</tool-use-id>")
_SUBAGENT: Final = re.compile(r"<subagent_notification>(.*?)</subagent_notification>", re.DOTALL)
_WORDS: Final = re.compile(r"[\w/-]+")


type _Voice = tuple[str | None, str | None]  # one conversation: client id of the agent, what it is if beside its own


@dataclass(frozen=True, slots=True)
class Speaker:
    """An agent under its client's names: id (None: main) and, for Codex, path of task names."""

    agent_id: str | None
    name: str | None


@dataclass(slots=True)
class _Call:
    emit: int
    voice: _Voice
    tool: str
    targets: tuple[str, ...]  # agents that a re-tasking or collecting call names, as the client wrote them
    result: int | None = None
    is_error: bool | None = None
    spawned: str | None = None
    deliveries: list[Delivery] = field(default_factory=list)


class LinkFinder:
    """Hears a session's kept requests in start order; `calls` gives what was found."""

    def __init__(self, speakers: Iterable[Speaker]) -> None:
        self._directory = _Directory(speakers)
        self._calls: dict[tuple[_Voice, str], _Call] = {}  # by calling conversation and call id
        self._order: list[_Call] = []
        self._work: dict[tuple[_Voice, str], _Call] = {}  # latest call by which a conversation set an agent to work
        self._heard: dict[_Voice, Counter[tuple[int, str | None]]] = defaultdict(Counter)
        self.texts_read = 0
        """Texts searched so far: the work done, in proportion to the new messages and results."""

    def hear(
        self,
        request: int,
        agent_id: str | None,
        purpose: Purpose,
        prompt: Iterable[tuple[int, Part]],
        answer: Iterable[Part],
        conversation: str | None = None,
    ) -> None:
        """One kept request: its prompt as (segment number, part) pairs in order, and its answer's parts.

        `conversation` names one of several beside the agent's own that have the same purpose.
        """
        voice = (agent_id, conversation or (purpose if purpose in _BESIDE else None))
        self._read_prompt(request, voice, prompt)
        for part in answer:
            if part.kind == "tool_call" and part.call_id:
                self._register(request, voice, part.call_id, part)

    def calls(self, agents: Mapping[str, int]) -> tuple[ToolCall, ...]:
        """All calls in order of emission, with agents as numbers; agents without a number are unknown."""
        return tuple(
            ToolCall(
                call=number,
                emit=call.emit,
                result=call.result,
                tool=tool_class(call.tool),
                is_error=call.is_error,
                spawned=agents.get(call.spawned) if call.spawned else None,
                deliveries=tuple(call.deliveries),
            )
            for number, call in enumerate(self._order)
        )

    def _register(self, request: int, voice: _Voice, call_id: str, part: Part) -> None:
        if (voice, call_id) in self._calls:
            return
        name = (part.name or "").rsplit(".", 1)[-1]
        names_agents = name in RETASKING or name in COLLECTING
        targets = tuple(_values(_json(part.text), _TARGET_KEYS)) if names_agents else ()
        call = _Call(request, voice, name, targets)
        self._calls[voice, call_id] = call
        self._order.append(call)
        if name in RETASKING:
            for target in targets:
                self._set_to_work(call, self._directory.find(target, voice[0]))

    def _read_prompt(self, request: int, voice: _Voice, prompt: Iterable[tuple[int, Part]]) -> None:
        heard, now = self._heard[voice], Counter[tuple[int, str | None]]()
        for handle, part in prompt:
            key = (handle, part.call_id or part.name)
            now[key] += 1
            if now[key] <= heard[key]:
                continue
            heard[key] = now[key]
            if part.kind == "tool_result":
                self._read_result(request, voice, part)
            elif part.role == "agent_message" and part.name:
                self._read_message(request, voice, part.name)
            elif part.kind in _SPOKEN and "notification>" in part.text:
                self._read_notifications(request, voice, part.text)

    def _read_result(self, request: int, voice: _Voice, part: Part) -> None:
        call = self._calls.get((voice, part.call_id or ""))
        if call is None or call.result is not None:
            return
        call.result, call.is_error = request, part.is_error
        if tool_class(call.tool) != "agent":
            return
        self.texts_read += 1
        if call.tool in COLLECTING:
            for finished in self._finished_agents(call, part.text):
                self._deliver(request, self._work.get((voice, finished)), "tool_result")
        elif call.spawned is None:
            self._set_to_work(call, self._directory.started(_spawned_names(part.text)))

    def _read_message(self, request: int, voice: _Voice, author: str) -> None:
        sender = self._directory.find(author, voice[0])
        self._deliver(request, self._work.get((voice, sender)) if sender else None, "agent_message")

    def _read_notifications(self, request: int, voice: _Voice, text: str) -> None:
        self.texts_read += 1
        for note in _TASK.findall(text):
            by_call = (self._calls.get((voice, call_id.strip())) for call_id in _TOOL_USE_ID.findall(note))
            by_agent = (self._work.get((voice, task.strip())) for task in _TASK_ID.findall(note))
            self._deliver(request, next((call for call in (*by_call, *by_agent) if call), None), "notification")
        for note in _SUBAGENT.findall(text):
            for word in _WORDS.findall(note):
                self._deliver(request, self._work.get((voice, word)), "notification")

    def _finished_agents(self, call: _Call, text: str) -> Iterator[str]:
        """Client ids of the agents that a collecting call reports as finished."""
        output = _json(text)
        status = output.get("status") if isinstance(output, dict) else None
        if isinstance(status, dict):
            for agent, state in status.items():
                words = state if isinstance(state, dict) else {state: None} if isinstance(state, str) else {}
                if _FINISHED & words.keys():
                    yield agent
        elif call.tool == "TaskOutput":
            yield from call.targets

    def _set_to_work(self, call: _Call, agent: str | None) -> None:
        if agent is not None and call.spawned is None:
            call.spawned = agent
            self._work[call.voice, agent] = call

    def _deliver(self, request: int, call: _Call | None, evidence: Evidence) -> None:
        delivery = Delivery(request, evidence)
        if call is not None and delivery not in call.deliveries:
            call.deliveries.append(delivery)


class _Directory:
    """Finds an agent by what its callers write: id, absolute or relative task name."""

    def __init__(self, speakers: Iterable[Speaker]) -> None:
        self._ids: set[str] = set()
        self._named: dict[str, list[str]] = defaultdict(list)
        self._name_of: dict[str | None, str] = {None: _MAIN_NAME}
        self._started: set[str] = set()
        for speaker in speakers:
            if speaker.agent_id is not None:
                self._ids.add(speaker.agent_id)
                if speaker.name and speaker.name != _MAIN_NAME:
                    self._named[speaker.name].append(speaker.agent_id)
                    self._name_of[speaker.agent_id] = speaker.name

    def find(self, target: str, caller: str | None) -> str | None:
        """The agent meant by `target` when `caller` writes it; the one started last when a name was used again."""
        if target in self._ids:
            return target
        for name in (target, f"{self._name_of.get(caller, '')}/{target}"):
            same = self._named.get(name, [])
            if same:
                return next((agent for agent in reversed(same) if agent in self._started), same[0])
        return None

    def started(self, names: Iterable[str]) -> str | None:
        """The agent that a call's result names as started, the last known one of `names`."""
        found = None
        for name in names:
            same = [name] if name in self._ids else self._named.get(name, [])
            found = next((agent for agent in same if agent not in self._started), same[-1] if same else found)
        if found is not None:
            self._started.add(found)
        return found


def _spawned_names(text: str) -> Iterator[str]:
    output = _json(text)
    yield from _values(output, _SPAWNED_KEYS) if isinstance(output, dict) else _AGENT_ID.findall(text)


def _values(record: object, keys: Iterable[str]) -> Iterator[str]:
    """The string values under `keys` of a JSON object."""
    if isinstance(record, dict):
        yield from (value for key in keys if isinstance(value := record.get(key), str))


def _json(text: str) -> object:
    """Parsed JSON, None for anything else."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
