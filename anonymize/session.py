"""Turns one session's exchanges into a corpus session of integers and allow-listed words.

Exchanges are walked once, in request start order: clean-up, body, segments, lengths, links, blocks. Only numbers are
kept from one request to the next, so memory and work follow what each turn added. The result does not depend on the
key. Times count from the start of the first kept request; agents are numbered by their first one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from anonymize.calibration import Calibration
from anonymize.cleanup import Reason
from anonymize.digests import BlockChains, Place, block_numbers
from anonymize.hearing import Heard, Hearing
from anonymize.links import LinkFinder, Speaker
from anonymize.placeholders import image_rule
from anonymize.policy import check_record
from anonymize.segments import placed_parts, segment_of
from anonymize.sizing import Sizing
from anonymize.tokens import SegmentTokens
from anonymize.words import KINDS, public_harness, public_model, public_stop, version_numbers
from corpus.blocks import encode_blocks, encode_segments
from corpus.exchange import Exchange, Identity
from corpus.session import Agent, Blocks, Request, Role, Session
from corpus.tokenizer import Tokenizer
from wire.shapes import Answer, Part
from wire.usage import Usage

_MODEL_MADE: Final[frozenset[Role]] = frozenset({"assistant", "tool_call", "thinking", "opaque"})


@dataclass(frozen=True, slots=True)
class Anonymized:
    """`session` is None when no exchange was kept; `rejected` counts the others by reason."""

    session: Session | None
    rejected: Counter[str]


@dataclass(frozen=True, slots=True)
class _Kept:
    """One kept request before its agent and lists are numbered and encoded."""

    request: Request
    identity: Identity
    blocks: NDArray[np.int64]
    segments: tuple[tuple[Role, int], ...]


def anonymize_session(
    exchanges: Iterable[Exchange],
    *,
    number: int,
    tokenizer: Tokenizer,
    block_size: int,
    max_input_tokens: int,
    keep_aux: bool,
    key: bytes,
    heads: Iterable[Exchange] | None = None,
    calibration: Calibration | None = None,
    chains: Callable[[bytes, str, int], BlockChains] = BlockChains,
) -> Anonymized:
    """The exchanges of one session, by time, as a corpus session numbered `number`, edges left empty.

    `key`: 32 random bytes to be forgotten afterwards; the result is the same for every key. `heads`: the same exchanges
    without bodies; give them when `exchanges` is read from a file as it is walked, else both come from `exchanges`.
    `keep_aux`: asides that nobody waited for and failed attempts become requests like any other.
    `calibration`: lengths as the provider counts; without it they are the tokenizer's. `chains`: for the audit, which
    watches how numbers are given.
    """
    if heads is None:
        heads = exchanges = sorted(exchanges, key=lambda one: one.request.t_request_us)
    hearing = Hearing(heads, keep_aux=keep_aux, keep_failed=keep_aux)
    walk = _Walk(
        hearing.identities, tokenizer, max_input_tokens, chains(key, tokenizer.sha256, block_size), calibration
    )
    for heard in hearing.requests(exchanges):
        reason = walk.take(heard)
        if reason is not None:
            hearing.rejected[reason] += 1
    session = walk.session(number, block_size)
    if session is not None:
        check_record(session)
    return Anonymized(session, hearing.rejected)


class _Walk:
    """What is remembered from one request to the next."""

    def __init__(
        self,
        identities: Iterable[Identity],
        tokenizer: Tokenizer,
        max_input_tokens: int,
        chains: BlockChains,
        calibration: Calibration | None,
    ) -> None:
        self._segments = SegmentTokens(tokenizer)
        self._sizing = Sizing(self._segments, calibration)
        self._chains = chains
        self._links = LinkFinder(dict.fromkeys(Speaker(one.agent_id, one.agent_name) for one in identities))
        self._max_input_tokens = max_input_tokens
        self._models: dict[str, int] = {}
        self._kept: list[_Kept] = []
        self._start_us = 0
        self._numbers: dict[str, int] = {}  # by exchange

    def take(self, heard: Heard) -> Reason | None:
        """Adds one request, or says why it stays out."""
        placed = [(self._segments.handle(segment), part) for segment, part in placed_parts(heard.prompt)]
        front = self._sizing.front(heard)
        handles = [*front, *(handle for handle, _ in placed)]
        places = self._chains.known(heard.model, handles)
        known = len(places) - 1
        tokens = self._sizing.tokens(heard, handles[known:], places[-1].total)
        input_tokens = places[-1].total + sum(map(len, tokens))
        if input_tokens > self._max_input_tokens:
            return "over_max_input_tokens"
        for handle, ids in zip(handles[known:], tokens, strict=True):
            role = self._segments.interned(handle).role
            places.append(self._chains.grow(places[-1], handle, role, ids))
        self._keep(heard, placed, max(known - len(front), 0), places)
        return None

    def _keep(self, heard: Heard, placed: Sequence[tuple[int, Part]], known: int, places: Sequence[Place]) -> None:
        identity = heard.exchange.request.identity
        if not self._kept:
            self._start_us = heard.exchange.request.t_request_us
        self._links.hear(
            len(self._kept), identity.agent_id, identity.purpose, placed, heard.answer.parts, identity.conversation
        )
        self._sizing.answered(heard)
        request = replace(self._request(heard), input_tokens=places[-1].total, input_kinds=_input_kinds(placed, known))
        segments = tuple(place.cut for place in places[1:])
        self._kept.append(_Kept(request, identity, block_numbers(places), segments))

    def session(self, number: int, block_size: int) -> Session | None:
        """Everything taken so far as a session; None when nothing was."""
        if not self._kept:
            return None
        identities = [kept.identity for kept in self._kept]
        agents = _agents(identities)
        numbers = {agent_id: agent.agent for agent_id, agent in agents.items()}
        blocks = encode_blocks(kept.blocks for kept in self._kept)
        segments = encode_segments((kept.segments for kept in self._kept), blocks)
        return Session(
            session=number,
            source_format="capture",
            source_dialect=None,
            harness=public_harness(next((one.harness for one in identities if one.harness), None)),
            harness_version=version_numbers(next((one.harness_version for one in identities if one.harness), None)),
            block_size=block_size,
            models=tuple(self._models),
            agents=tuple(agents.values()),
            requests=tuple(
                replace(kept.request, agent=numbers[kept.identity.agent_id], blocks=delta, segments=cuts)
                for kept, delta, cuts in zip(self._kept, blocks, segments, strict=True)
            ),
            tool_calls=self._links.calls({agent_id: n for agent_id, n in numbers.items() if agent_id is not None}),
        )

    def _request(self, one: Heard) -> Request:
        """All of a request that does not depend on other requests."""
        heard, response = one.exchange.request, one.exchange.response
        first_us = None if response is None else response.t_first_byte_us
        number = self._numbers[heard.exchange_id] = len(self._kept)
        return Request(
            request=number,
            agent=0,
            position=one.position,
            purpose=heard.identity.purpose,
            api=heard.api,
            stream=heard.identity.stream if one.prompt.stream is None else one.prompt.stream,
            model=self._models.setdefault(public_model(one.model), len(self._models)),
            t_start_us=heard.t_request_us - self._start_us,
            t_first_us=None if first_us is None else first_us - self._start_us,
            t_end_us=None if response is None else response.t_end_us - self._start_us,
            end=one.exchange.end,
            status=None if response is None else response.status,
            retry_of=None if heard.retry_of is None else self._numbers.get(heard.retry_of),
            stop=public_stop(one.answer.stop),
            input_kinds=(),
            output_kinds=tuple(sorted({KINDS[part.kind] for part in one.answer.parts if part.kind != "billing"})),
            input_tokens=0,
            output_tokens=self._output_tokens(one.usage, one.answer),
            usage=one.usage,
            blocks=Blocks(-1, 0, (), ()),
            segments=None,
            attempts=one.attempts,
        )

    def _output_tokens(self, usage: Usage | None, answer: Answer) -> int | None:
        """The provider's count, else the answer counted here (its history form is the same text, mostly)."""
        if usage is not None and usage.output_tokens is not None:
            return usage.output_tokens
        rule = image_rule(answer.model)
        handles = (self._segments.handle(segment_of(part, rule)) for part in answer.parts)
        return sum(len(self._segments.interned(handle).tokens) - 1 for handle in handles)


def _input_kinds(placed: Sequence[tuple[int, Part]], known: int) -> tuple[str, ...]:
    """Kinds of what this prompt adds to the ones before; the model's own words count only where history is new."""
    continues = any(part.message >= 0 for _, part in placed[:known])
    added = {part.kind for _, part in placed[known:] if part.kind != "billing"}
    return tuple(sorted({KINDS[kind] for kind in added if not (continues and kind in _MODEL_MADE)}))


def _agents(identities: Sequence[Identity]) -> dict[str | None, Agent]:
    """Agents by client id, numbered by first appearance; a parent that was not heard is unknown."""
    first: dict[str | None, Identity] = {None: Identity()}
    for identity in identities:
        first.setdefault(identity.agent_id, identity)
    numbers = {agent_id: number for number, agent_id in enumerate(first)}
    return {
        agent_id: Agent(numbers[agent_id], _parent(identity, numbers), identity.agent_kind)
        for agent_id, identity in first.items()
    }


def _parent(identity: Identity, numbers: dict[str | None, int]) -> int | None:
    """Main has no parent; a child that names none, or names the session, is main's. A parent spoke before its child."""
    if identity.agent_id is None:
        return None
    above = None if identity.parent_agent_id == identity.session_id else identity.parent_agent_id
    parent = numbers.get(above)
    return parent if parent is not None and parent < numbers[identity.agent_id] else None
