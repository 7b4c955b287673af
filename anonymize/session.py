"""Turns one session's exchanges into a corpus session of integers and allow-listed words.

Exchanges are walked once, in request start order: clean-up, body, segments, tokens, links, blocks. Only numbers are
kept from one request to the next, so memory and work follow what each turn added. The result does not depend on the
key. Times count from the start of the first kept request; agents are numbered by their first one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from anonymize.cleanup import Reason, reason_to_reject, repeated_attempts
from anonymize.digests import BlockChains
from anonymize.links import LinkFinder, Speaker
from anonymize.policy import KINDS, check_strings, public_harness, public_model, public_stop, version_numbers
from anonymize.segments import placed_parts, segment_of
from anonymize.tokens import SegmentTokens
from corpus.blocks import encode_blocks, encode_segments
from corpus.exchange import Exchange, Headers, Identity
from corpus.session import Agent, Blocks, Request, Role, Session
from corpus.tokenizer import Tokenizer
from wire.answer import read_answer
from wire.encoding import decode_body
from wire.errors import WireError
from wire.prompt import read_prompt
from wire.shapes import Answer, Part, Prompt
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
    exchanges: Sequence[Exchange],
    *,
    number: int,
    tokenizer: Tokenizer,
    block_size: int,
    max_input_tokens: int,
    keep_aux: bool,
    key: bytes,
) -> Anonymized:
    """The exchanges of one session as a corpus session numbered `number`, edges left empty.

    `key`: 32 random bytes to be forgotten afterwards; the result is the same for every key.
    """
    candidates, rejected = _split(exchanges, keep_aux=keep_aux)
    walk = _Walk(candidates, tokenizer, block_size, max_input_tokens, key)
    for position, exchange in candidates:
        reason = walk.take(exchange, position)
        if reason is not None:
            rejected[reason] += 1
    session = walk.session(number, block_size)
    if session is not None:
        check_strings(session)
    return Anonymized(session, rejected)


def _split(exchanges: Sequence[Exchange], *, keep_aux: bool) -> tuple[list[tuple[int, Exchange]], Counter[str]]:
    """Candidates with their order of arrival, sorted by (start, agent, arrival), and the others counted by reason."""
    rejected: Counter[str] = Counter()
    repeated = repeated_attempts(exchanges)
    candidates = []
    for exchange in sorted(exchanges, key=lambda one: (one.request.t_request_us, one.request.exchange_id)):
        reason = reason_to_reject(exchange, repeated, keep_aux=keep_aux)
        if reason is None:
            candidates.append(exchange)
        else:
            rejected[reason] += 1
    numbers = _number_agents(candidates)
    ordered = sorted(
        enumerate(candidates), key=lambda one: (one[1].request.t_request_us, numbers[_agent_of(one[1])], one[0])
    )
    return ordered, rejected


def _agent_of(exchange: Exchange) -> str | None:
    return exchange.request.identity.agent_id


def _number_agents(exchanges: Iterable[Exchange]) -> dict[str | None, int]:
    """Main is 0 even if it was not heard, the others follow by first appearance."""
    order: dict[str | None, None] = {None: None}
    order.update(dict.fromkeys(map(_agent_of, exchanges)))
    return {agent: number for number, agent in enumerate(order)}


class _Walk:
    """What is remembered from one request to the next."""

    def __init__(
        self,
        candidates: Sequence[tuple[int, Exchange]],
        tokenizer: Tokenizer,
        block_size: int,
        max_input_tokens: int,
        key: bytes,
    ) -> None:
        identities = [exchange.request.identity for _, exchange in candidates]
        speakers = dict.fromkeys(Speaker(one.agent_id, one.agent_name) for one in identities)
        self._segments = SegmentTokens(tokenizer)
        self._chains = BlockChains(key, tokenizer.sha256, block_size)
        self._links = LinkFinder(speakers)
        self._max_input_tokens = max_input_tokens
        self._models: dict[str, int] = {}
        self._kept: list[_Kept] = []
        self._start_us = 0

    def take(self, exchange: Exchange, position: int) -> Reason | None:
        """Adds one exchange, or says why it stays out."""
        try:
            prompt, answer = _read(exchange)
        except WireError:
            return "unparsable"
        if not answer.parts and not answer.complete:
            return "error" if answer.error else "no_answer"
        placed = [(self._segments.handle(segment), part) for segment, part in placed_parts(prompt)]
        tokens = [(handle, self._segments.tokens(handle)) for handle, _ in placed]
        input_tokens = sum(len(ids) for _, ids in tokens)
        if input_tokens > self._max_input_tokens:
            return "over_max_input_tokens"
        if not self._kept:
            self._start_us = exchange.request.t_request_us
        identity = exchange.request.identity
        model = prompt.model or identity.model or ""
        known = self._chains.known_segments(model, [handle for handle, _ in placed])
        self._links.hear(len(self._kept), identity.agent_id, identity.purpose, placed, answer.parts)
        request = self._request(exchange, position, prompt, answer)
        request = replace(request, input_tokens=input_tokens, input_kinds=_input_kinds(placed, known))
        blocks = np.array(self._chains.blocks(model, tokens), dtype=np.int64)
        segments = tuple((self._segments.role(handle), len(ids)) for handle, ids in tokens)
        self._kept.append(_Kept(request, exchange.request.identity, blocks, segments))
        return None

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

    def _request(self, exchange: Exchange, position: int, prompt: Prompt, answer: Answer) -> Request:
        """All of a request that does not depend on other requests."""
        heard, response = exchange.request, exchange.response
        assert response is not None
        first_us = response.t_first_byte_us
        usage = response.usage or answer.usage
        return Request(
            request=len(self._kept),
            agent=0,
            position=position,
            purpose=heard.identity.purpose,
            api=heard.api,
            stream=heard.identity.stream if prompt.stream is None else prompt.stream,
            model=self._models.setdefault(public_model(prompt.model or heard.identity.model), len(self._models)),
            t_start_us=heard.t_request_us - self._start_us,
            t_first_us=None if first_us is None else first_us - self._start_us,
            t_end_us=response.t_end_us - self._start_us,
            end=response.end,
            status=response.status,
            retry_of=None,
            stop=public_stop(answer.stop),
            input_kinds=(),
            output_kinds=tuple(sorted({KINDS[part.kind] for part in answer.parts if part.kind != "billing"})),
            input_tokens=0,
            output_tokens=self._output_tokens(usage, answer),
            usage=usage,
            blocks=Blocks(-1, 0, (), ()),
            segments=None,
        )

    def _output_tokens(self, usage: Usage | None, answer: Answer) -> int | None:
        """The provider's count, else the answer counted here (its history form is the same text, mostly)."""
        if usage is not None and usage.output_tokens is not None:
            return usage.output_tokens
        segments = (segment_of(part) for part in answer.parts)
        return sum(len(self._segments.tokens(self._segments.handle(segment))) - 1 for segment in segments)


def _read(exchange: Exchange) -> tuple[Prompt, Answer]:
    heard, response = exchange.request, exchange.response
    assert response is not None
    body = decode_body(heard.body, _header(heard.headers, "content-encoding"))
    answered = decode_body(response.body, _header(response.headers, "content-encoding"))
    return (
        read_prompt(heard.api, body),
        read_answer(heard.api, answered, _header(response.headers, "content-type")),
    )


def _header(headers: Headers, name: str) -> str | None:
    return next((value for key, value in headers if key.lower() == name), None)


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
