"""One session's exchanges, cleaned up, put in order and read one at a time.

Clean-up, the agents' numbers and their names need to know the whole session, but no bodies; prompts need bodies, but
only one at a time. So a session is heard twice: first its heads, then each exchange with its bodies, which are let go
before the next. That bounds memory by one exchange, whatever the length of the session. Turns on a WebSocket build on
each other, so of these what was said is kept, once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import xxhash

from anonymize.attempts import Attempts
from anonymize.cleanup import ATTEMPTS, reason_to_reject, repeated_attempts
from corpus.exchange import Exchange, Headers, Identity
from corpus.session import Attempt
from corpus.turns import HistoryMissingError, Turns, is_turn
from wire.answer import read_answer, read_messages
from wire.encoding import decode_body
from wire.errors import WireError
from wire.prompt import read_prompt
from wire.shapes import Answer, Prompt
from wire.usage import Usage


@dataclass(frozen=True, slots=True)
class Heard:
    """A request that was answered, or an attempt that is kept; `position` counts what clean-up let pass, by arrival."""

    exchange: Exchange
    position: int
    prompt: Prompt
    answer: Answer
    attempts: tuple[Attempt, ...] = ()

    @property
    def model(self) -> str:
        """As the client named it; "" when it did not."""
        return self.prompt.model or self.exchange.request.identity.model or ""

    @property
    def usage(self) -> Usage | None:
        """What the provider counted, as the recorder or else the answer says."""
        response = self.exchange.response
        return (response.usage if response else None) or self.answer.usage

    @property
    def counted_tokens(self) -> int | None:
        """The provider's count of this prompt; None when there is none, or when its own tools added to it."""
        if self.usage is None or any(part.kind == "tool_result" for part in self.answer.parts):
            return None
        return self.usage.input_tokens or None


class Hearing:
    """`heads`: all exchanges of the session in any order; their bodies are not read. `keep_failed`: keep attempts."""

    def __init__(self, heads: Iterable[Exchange], *, keep_aux: bool, keep_failed: bool = False) -> None:
        ordered = sorted(heads, key=lambda one: (one.request.t_request_us, one.request.exchange_id))
        repeated = repeated_attempts(ordered)
        self.rejected: Final[Counter[str]] = Counter()
        self.identities: Final[list[Identity]] = []
        self._positions: dict[str, int] = {}
        self._keep_failed = keep_failed
        self._attempts = Attempts(repeated)
        self._failed: set[str] = set()
        self._ends_us: dict[tuple[str | None, str, bytes], int] = {}  # by agent, the answer's id and the request's body
        for exchange in ordered:
            reason = reason_to_reject(exchange, repeated, keep_aux=keep_aux, keep_failed=keep_failed)
            if reason is None:
                self._positions[exchange.request.exchange_id] = len(self.identities)
                self.identities.append(exchange.request.identity)
            else:
                self.rejected[reason] += 1
                if reason in ATTEMPTS:
                    self._failed.add(exchange.request.exchange_id)
        self._agents = {agent: n for n, agent in enumerate({None: None} | {i.agent_id: None for i in self.identities})}

    def requests(self, exchanges: Iterable[Exchange]) -> Iterator[Heard]:
        """The session again, by time and with bodies; sorted by (start, agent, arrival). Others count in `rejected`."""
        turns = Turns()
        for _, moment in groupby(exchanges, key=lambda one: one.request.t_request_us):
            for exchange in sorted(moment, key=self._order):
                heard = self._read(exchange, turns)
                if heard is not None:
                    yield heard

    def _order(self, exchange: Exchange) -> tuple[int, int]:
        """Exchanges that clean-up left out come first: a turn may go on from one."""
        position = self._positions.get(exchange.request.exchange_id)
        return (-1, -1) if position is None else (self._agents[exchange.request.identity.agent_id], position)

    def _read(self, exchange: Exchange, turns: Turns) -> Heard | None:
        is_candidate = exchange.request.exchange_id in self._positions
        if exchange.request.exchange_id in self._failed:
            self._attempts.failed(exchange)
        if not is_candidate and not is_turn(exchange):
            return None
        try:
            prompt, answer = _read_bodies(exchange, turns)
        except WireError as error:
            if is_candidate:
                self.rejected["history_missing" if isinstance(error, HistoryMissingError) else "unparsable"] += 1
            return None
        if not is_candidate:
            return None
        if not answer.parts and not answer.complete and not self._keep_failed:
            self.rejected["error" if answer.error else "no_answer"] += 1
            self._attempts.failed(exchange)
            return None
        if self._is_duplicate(exchange, answer):
            self.rejected["duplicate"] += 1
            return None
        position = self._positions[exchange.request.exchange_id]
        return Heard(exchange, position, prompt, answer, self._attempts.behind(exchange))

    def _is_duplicate(self, exchange: Exchange, answer: Answer) -> bool:
        """Whether it was recorded twice, by two recorders on its way: the same words, the same answer, at once."""
        if answer.message_id is None or exchange.response is None:
            return False
        key = (exchange.request.identity.agent_id, answer.message_id, xxhash.xxh3_128_digest(exchange.request.body))
        ends_us = self._ends_us.setdefault(key, exchange.request.t_request_us)
        self._ends_us[key] = max(ends_us, exchange.response.t_end_us)
        return exchange.request.t_request_us < ends_us


def _read_bodies(exchange: Exchange, turns: Turns) -> tuple[Prompt, Answer]:
    heard, response = exchange.request, exchange.response
    prompt = read_prompt(heard.api, turns.whole_body(exchange))
    if response is None:
        return prompt, Answer()
    if is_turn(exchange):
        return prompt, read_messages(response.messages)
    answered = decode_body(response.body, _header(response.headers, "content-encoding"))
    return prompt, read_answer(heard.api, answered, _header(response.headers, "content-type"))


def _header(headers: Headers, name: str) -> str | None:
    return next((value for key, value in headers if key.lower() == name), None)
