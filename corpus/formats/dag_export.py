"""Sessions as conversations of dag_jsonl; what that loses is described in `corpus.formats.dag_jsonl`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from corpus.blocks import expand_blocks
from corpus.formats.mooncake_rows import to_ms
from corpus.formats.trace_rows import Prompt, Tally, added_tokens, answered_part, asked_tokens, conversations
from corpus.graph import end_us
from corpus.session import Edge, Request, Session

# Words that byte-pair vocabularies hold with the space before them, so that each is one token wherever it stands.
_WORDS: Final = tuple(
    """
    the of and to in is that it for was on are as with his they be at one have this from or had by but some what
    there we can out other were all your when up use how said an each she which do their time if will way about many
    then them would write like so these her long make thing see him two has look more day could go come did my no most
    number who over know water than call first people may down side been now find any new work part take get place
    made live where after back little only round man year came show every good me give our under name very through
    """.split()  # noqa: SIM905 - words read better than quoted strings
)


@dataclass(slots=True)
class _Conversation:
    name: str
    requests: list[Request] = field(default_factory=list)
    added: list[int] = field(default_factory=list)  # tokens of each turn's message
    continuation: str | None = None
    children: list[tuple[int, str, int | None]] = field(default_factory=list)  # turn, child, turn it joins at
    delay_us: int = 0  # before the first turn


class _Text:
    """Text of a session's prompts, by position; the same block reads the same everywhere."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._prompts = [ids.tolist() for ids in expand_blocks([r.blocks for r in session.requests])]
        self._known: dict[str, list[str]] = {}

    @property
    def prompts(self) -> Sequence[Sequence[int]]:
        return self._prompts

    def last(self, request: Request, tokens: int) -> str:
        """The text of the prompt's last `tokens`."""
        size = self._session.block_size
        start = request.input_tokens - tokens
        words: list[str] = []
        for block in range(start // size, -(-request.input_tokens // size)):
            first, end = max(start, block * size), min(request.input_tokens, (block + 1) * size)
            words += self._block(request, block)[first - block * size : end - block * size]
        return "".join(words)

    def _block(self, request: Request, block: int) -> list[str]:
        ids = self._prompts[request.request]
        last = ids[-1] if ids else f"request {request.request}"
        what = str(ids[block]) if block < len(ids) else f"{last}+{block}"
        if what not in self._known:
            drawn = hashlib.shake_128(f"{self._session.label}:{what}".encode()).digest(self._session.block_size)
            self._known[what] = [f" {_WORDS[byte % len(_WORDS)]}" for byte in drawn]
        return self._known[what]


def export_conversations(sessions: Iterable[Session], tally: Tally) -> Iterator[dict[str, Any]]:
    """The lines of a file, those of a session together."""
    for session in sessions:
        part = answered_part(session)
        tally.add(len(session.requests), len(part.requests))
        text = _Text(part)
        found = _conversations(part, text)
        _attach(part, found)
        for conversation in found:
            turns = [_turn(part, conversation, number, text) for number in range(len(conversation.requests))]
            yield {"session_id": conversation.name, "turns": turns}


def _conversations(part: Session, text: _Text) -> list[_Conversation]:
    """Agents and asides, cut where a prompt does not go on from the last one."""
    found = []
    for name, requests in conversations(part):
        current, times = _Conversation(name), 1
        found.append(current)
        before: Prompt | None = None
        for request in requests:
            added = None if before is None else added_tokens(before, request, text.prompts, part.block_size)
            if before is not None and added is None:
                times += 1
                current.continuation = f"{name}~{times}"
                current = _Conversation(f"{name}~{times}", delay_us=_pause_us(before.request, request))
                found.append(current)
            if before is None or added is None:
                added, before = request.input_tokens, Prompt(request, request.input_tokens)
            else:
                before = Prompt(request, before.tokens + asked_tokens(before.request) + added)
            current.requests.append(request)
            current.added.append(added)
    return found


def _attach(part: Session, found: Sequence[_Conversation]) -> None:
    """Give every conversation that an edge leads into to the turn it comes from."""
    places = {r.request: (conv, turn) for conv in found for turn, r in enumerate(conv.requests)}
    continuations = {conv.continuation for conv in found}
    for child in found:
        spawn = next((e for e in part.edges if e.dst == child.requests[0].request and e.kind in ("spawn", "aux")), None)
        if spawn is None or child.name in continuations:
            continue
        parent, turn = places[spawn.src]
        child.delay_us = _pause_us(part.requests[spawn.src], child.requests[0])
        parent.children.append((turn, child.name, _join_turn(part.edges, child, parent, turn, places)))


def _join_turn(
    edges: Iterable[Edge],
    child: _Conversation,
    parent: _Conversation,
    turn: int,
    places: dict[int, tuple[_Conversation, int]],
) -> int | None:
    """The first turn of the parent that waits for the child, else its last; None when the child starts there."""
    own = {request.request for request in child.requests}
    last = len(parent.requests) - 1
    dsts = (places[edge.dst] for edge in edges if edge.kind == "join" and edge.src in own)
    joins = [at for conv, at in dsts if conv is parent and at > turn]
    return min(joins, default=last) if turn < last else None


def _turn(part: Session, conversation: _Conversation, number: int, text: _Text) -> dict[str, Any]:
    request = conversation.requests[number]
    before = conversation.requests[number - 1] if number else None
    delay_us = conversation.delay_us if before is None else _pause_us(before, request)
    spawns: list[Any] = [
        child if join is None else {"children": [child], "join_at": join}
        for turn, child, join in conversation.children
        if turn == number
    ]
    if conversation.continuation is not None and request is conversation.requests[-1]:
        spawns.append(conversation.continuation)
    return {
        "messages": [{"role": "user", "content": text.last(request, conversation.added[number])}],
        "model": part.models[request.model],
        "max_tokens": asked_tokens(request),
        **({"spawns": spawns} if spawns else {}),
        **({"delay": to_ms(delay_us)} if delay_us else {}),
    }


def _pause_us(before: Request, after: Request) -> int:
    return max(0, after.t_start_us - end_us(before))
