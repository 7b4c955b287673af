"""Conversations of dag_jsonl as sessions; the format is described in `corpus.formats.dag_jsonl`."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Final, NamedTuple

import orjson

from corpus.blocks import encode_blocks, encode_segments
from corpus.exchange import AgentKind
from corpus.formats.conversations import UNNAMED_MODEL
from corpus.formats.dag_shape import WHOLE_PROMPTS, Branch, Line, branches, started
from corpus.formats.fields import Object
from corpus.session import Agent, Blocks, Edge, EdgeKind, Evidence, Request, Role, Segments, Session
from corpus.tokenizer import Tokenizer, load_tokenizer

BLOCK_SIZE: Final = 64
# How the roles of chat messages are called here.
_ROLES: Final[Mapping[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool_result",
}

_ROLE_NUMBERS: Final[Mapping[Role, int]] = {"system": 0, "user": 1, "assistant": 2, "tool_result": 3}
_ANSWERED: Final = 1 << 40  # above all token ids: answers are not known, each of their tokens is its own


@dataclass(frozen=True, slots=True)
class _Said:
    """A prompt so far: its segments, the ids of its whole blocks, and the tokens after them."""

    segments: tuple[tuple[Role, int], ...] = ()
    ids: tuple[int, ...] = ()
    tail: tuple[int, ...] = ()


class _Blocks:
    """Block ids of a session by first appearance; chained: an id names its tokens and all before them."""

    def __init__(self) -> None:
        self._ids: dict[Hashable, int] = {}
        self._fresh = count(_ANSWERED)

    def add(self, said: _Said, role: Role, tokens: Iterable[int]) -> _Said:
        marked = [*said.tail, *(token * len(_ROLE_NUMBERS) + _ROLE_NUMBERS[role] for token in tokens)]
        ids = list(said.ids)
        whole = len(marked) // BLOCK_SIZE * BLOCK_SIZE
        for start in range(0, whole, BLOCK_SIZE):
            key = (ids[-1] if ids else 0, *marked[start : start + BLOCK_SIZE])
            ids.append(self._ids.setdefault(key, len(self._ids) + 1))
        segments = (*said.segments, (role, len(marked) - len(said.tail)))
        return _Said(segments, tuple(ids), tuple(marked[whole:]))

    def add_answer(self, said: _Said, tokens: int) -> _Said:
        return self.add(said, "assistant", (next(self._fresh) for _ in range(tokens))) if tokens else said


class _Heard(NamedTuple):
    start_us: int
    agent: int
    position: int
    turn: Object
    said: _Said


class _Link(NamedTuple):
    src: int  # positions
    dst: int
    kind: EdgeKind
    delay_us: int
    evidence: Evidence


@dataclass(slots=True)
class _Building:
    """A session while its conversations are walked, parents first."""

    found: Mapping[str, Line]
    tokenizer: Tokenizer
    blocks: _Blocks = field(default_factory=_Blocks)
    agents: list[Agent] = field(default_factory=list)
    heard: list[_Heard] = field(default_factory=list)
    links: list[_Link] = field(default_factory=list)


def sessions_of_conversations(found: Mapping[str, Line]) -> Iterator[Session]:
    """One session for every conversation that no other starts, in file order, numbered from 0."""
    tokenizer = load_tokenizer()
    children = {child for _, told in found.values() for child in started(told)}
    for number, name in enumerate(name for name in found if name not in children):
        building = _Building(found, tokenizer)
        _walk(building, name, None, "main", 0, _Said())
        yield _session(building, number, name)


def _walk(
    building: _Building, name: str, parent: int | None, kind: AgentKind, start_us: int, said: _Said
) -> tuple[int, int]:
    """Adds a conversation and all it starts; gives the positions of its first and its last turn."""
    told = building.found[name].told
    agent = len(building.agents)
    building.agents.append(Agent(agent, parent, kind, json.dumps({"id": name})))
    for child in told.get("pre_session_spawns", ()):
        _walk(building, child, agent, "subagent", start_us, _Said())
    joins: dict[int | None, list[int]] = {}  # turn -> last positions of the children it waits for
    positions: list[int] = []
    for number, turn in enumerate(told["turns"]):
        delay_us = round(turn.get("delay", 0) * 1000)
        start_us += delay_us
        said = _said_by(building, turn, _Said() if told.get("context_mode") == WHOLE_PROMPTS else said)
        position = len(building.heard)
        building.heard.append(_Heard(start_us, agent, position, turn, said))
        if positions:
            building.links.append(_Link(positions[-1], position, "sequence", delay_us, "id"))
        building.links += [_Link(src, position, "join", 0, "id") for src in joins.get(number, ())]
        positions.append(position)
        said = building.blocks.add_answer(said, turn.get("max_tokens") or 0)
        for branch in branches(turn, number):
            joins.setdefault(branch.join_at, []).append(_start(building, branch, building.heard[position], said))
    return positions[0], positions[-1]


def _start(building: _Building, branch: Branch, by: _Heard, said: _Said) -> int:
    """Adds what a turn starts; gives the position of its last turn."""
    kind: AgentKind = "fork" if branch.fork else "subagent"
    first, last = _walk(building, branch.child, by.agent, kind, by.start_us, said if branch.fork else _Said())
    delay_us = building.heard[first].start_us - by.start_us
    building.links.append(_Link(by.position, first, "spawn", delay_us, "fork" if branch.fork else "id"))
    return last


def _said_by(building: _Building, turn: Object, said: _Said) -> _Said:
    for message in turn["messages"]:
        tokens = building.tokenizer.encode(_text_of(message)).tolist()
        said = building.blocks.add(said, _ROLES.get(message["role"], "user"), tokens)
    return said


def _text_of(message: Object) -> str:
    """What a message says; all besides text counts as the JSON it is."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [] if content is None else [content]
    texts = [part["text"] if isinstance(part, dict) and isinstance(part.get("text"), str) else part for part in parts]
    rest = {key: value for key, value in message.items() if key not in ("role", "content")}
    return "".join(
        text if isinstance(text, str) else orjson.dumps(text).decode() for text in [*texts, *([rest] if rest else [])]
    )


def _session(building: _Building, number: int, name: str) -> Session:
    placed = sorted(building.heard, key=lambda one: one[:3])
    numbers = {one.position: request for request, one in enumerate(placed)}
    models = tuple(dict.fromkeys(one.turn.get("model") or UNNAMED_MODEL for one in placed))
    blocks = encode_blocks(one.said.ids for one in placed)
    segments = encode_segments((one.said.segments for one in placed), blocks)
    requests = tuple(
        _request(one, request, models.index(one.turn.get("model") or UNNAMED_MODEL), blocks[request], segments[request])
        for request, one in enumerate(placed)
    )
    edges = (Edge(numbers[w.src], numbers[w.dst], w.kind, w.delay_us, "end", w.evidence) for w in building.links)
    return Session(
        session=number,
        source_format="dag_jsonl",
        source_dialect=None,
        harness=None,
        harness_version=(),
        block_size=BLOCK_SIZE,
        models=models,
        agents=tuple(building.agents),
        requests=requests,
        edges=tuple(sorted(edges, key=lambda edge: (edge.dst, edge.src, edge.kind))),
        source=json.dumps({"id": name}),
    )


def _request(one: _Heard, number: int, model: int, blocks: Blocks, segments: Segments) -> Request:
    return Request(
        request=number,
        agent=one.agent,
        position=one.position,
        purpose="turn",
        api="openai-chat",
        stream=None,
        model=model,
        t_start_us=one.start_us,
        t_first_us=None,
        t_end_us=None,
        end="complete",
        status=None,
        retry_of=None,
        stop="",
        input_kinds=(),
        output_kinds=(),
        input_tokens=sum(tokens for _, tokens in one.said.segments),
        output_tokens=one.turn.get("max_tokens"),
        usage=None,
        blocks=blocks,
        segments=segments,
    )
