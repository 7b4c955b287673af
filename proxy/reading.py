"""What the recorder wants to know of a request's body, read in proportion to what the body adds to the one before.

Facts tell what a request is for; a digest of its content tells whether it repeats one that failed (`proxy.retries` says
what counts); a chain is that digest for the Responses API, where a request may say only what is new. A body that cannot
be read has none of these.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from corpus.exchange import RequestRecord
from proxy.chains import Chain, Chains
from proxy.histories import Histories, MessageList
from proxy.identity import SOURCES
from proxy.retries import Digest, digest_messages, digest_request
from wire.api import Api
from wire.errors import WireError
from wire.facts import RequestFacts, facts_of, telling
from wire.jsonbody import members, parse_object
from wire.turns import previous_response_id

# Protocols whose requests repeat their history. A turn on a WebSocket does not.
MESSAGES: Final[dict[Api, MessageList]] = {
    "anthropic-messages": MessageList("messages", (b',{"role":',)),
    "openai-chat": MessageList("messages", (b',{"role":',)),
    "openai-responses": MessageList(
        "input", (b',{"type":"message"', b',{"type":"function_call', b',{"type":"custom_tool_call')
    ),
}
_SPEAKERS: Final = frozenset(
    source.removeprefix("header:")
    for name in ("session_id", "agent_id")
    for source in SOURCES[name]
    if source.startswith("header:")
)


@dataclass(frozen=True, slots=True)
class Read:
    facts: RequestFacts = field(default_factory=RequestFacts)
    content: bytes | None = None  # digest, where another than that of the bytes is called for
    chain: Chain | None = None
    previous: str | None = None  # exchange that a turn goes on from


@dataclass(frozen=True, slots=True)
class _Said:
    """What messages came to: a digest of all, and those among them that facts are told of."""

    digest: Digest
    chain: Chain
    telling: tuple[Any, ...] = ()


class Reader:
    def __init__(self, chains: Chains) -> None:
        self._chains = chains
        self._start = _Said(Digest(), chains.empty)
        self._histories: dict[Api, Histories[_Said]] = {
            "anthropic-messages": Histories(self._start, _add_messages),
            "openai-chat": Histories(self._start, _add_telling),
            "openai-responses": Histories(self._start, _add_items),
        }

    def read(self, record: RequestRecord, body: bytes) -> Read:
        """`body`: decoded, b"" when it is not to be read."""
        try:
            return self._read(record, body) if body else Read()
        except WireError:
            return Read()

    def _read(self, record: RequestRecord, body: bytes) -> Read:
        where = MESSAGES.get(record.api)
        if where is None:
            request, said = parse_object(body), self._start
            facts = facts_of(request)
        else:
            request, said = self._history(record, body, where)
            facts = facts_of(request | {where.name: [*said.telling, *request[where.name]]} if said.telling else request)
        if record.api == "openai-responses-ws":
            return Read(facts, chain=self._chain(request), previous=self._chains.previous(request))
        if record.api == "openai-responses":
            return Read(facts, chain=self._chain(request, said.chain))
        if record.api == "anthropic-messages":
            messages = request.get("messages")
            digest = digest_messages(said.digest, messages if isinstance(messages, list) else [messages])
            return Read(facts, content=digest_request(request, digest))
        return Read(facts)

    def _history(self, record: RequestRecord, body: bytes, where: MessageList) -> tuple[dict[str, Any], _Said]:
        speaker = tuple(value for name, value in record.headers if name.lower() in _SPEAKERS)
        try:
            request, said = self._histories[record.api].read(speaker, body, where)
            if previous_response_id(request) is None:  # else its items follow those of another request
                return request, said
        except WireError:
            pass  # it may hold items of no known shape
        return parse_object(body), self._start

    def _chain(self, request: dict[str, Any], before: Chain | None = None) -> Chain | None:
        try:
            return self._chains.asked(request, before)
        except WireError:
            return None


def _add_messages(before: _Said, messages: list[Any]) -> _Said:
    digest = digest_messages(before.digest, messages)
    return _Said(digest, before.chain, telling([*before.telling, *messages]))


def _add_telling(before: _Said, messages: list[Any]) -> _Said:
    return _Said(before.digest, before.chain, telling([*before.telling, *messages]))


def _add_items(before: _Said, items: list[Any]) -> _Said:
    chain = before.chain.then(members(items, "input"))
    return _Said(before.digest, chain, telling([*before.telling, *items]))
