"""One session's exchanges, cleaned up, put in order and read one at a time.

Clean-up, the agents' numbers and their names need to know the whole session, but no bodies; prompts need bodies, but
only one at a time. So a session is heard twice: first its heads, then each exchange with its bodies, which are let go
before the next. That bounds memory by one exchange, whatever the length of the session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from anonymize.cleanup import reason_to_reject, repeated_attempts
from corpus.exchange import Exchange, Headers, Identity
from wire.answer import read_answer
from wire.encoding import decode_body
from wire.errors import WireError
from wire.prompt import read_prompt
from wire.shapes import Answer, Prompt
from wire.usage import Usage


@dataclass(frozen=True, slots=True)
class Heard:
    """A request that was answered; `position` is its order of arrival among those that clean-up let pass."""

    exchange: Exchange
    position: int
    prompt: Prompt
    answer: Answer

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
    """`heads`: all exchanges of the session in any order; their bodies are not read."""

    def __init__(self, heads: Iterable[Exchange], *, keep_aux: bool) -> None:
        ordered = sorted(heads, key=lambda one: (one.request.t_request_us, one.request.exchange_id))
        repeated = repeated_attempts(ordered)
        self.rejected: Final[Counter[str]] = Counter()
        self.identities: Final[list[Identity]] = []
        self._positions: dict[str, int] = {}
        for exchange in ordered:
            reason = reason_to_reject(exchange, repeated, keep_aux=keep_aux)
            if reason is None:
                self._positions[exchange.request.exchange_id] = len(self.identities)
                self.identities.append(exchange.request.identity)
            else:
                self.rejected[reason] += 1
        self._agents = {agent: n for n, agent in enumerate({None: None} | {i.agent_id: None for i in self.identities})}

    def requests(self, exchanges: Iterable[Exchange]) -> Iterator[Heard]:
        """The session again, by time and with bodies; sorted by (start, agent, arrival). Others count in `rejected`."""
        for _, moment in groupby(exchanges, key=lambda one: one.request.t_request_us):
            for exchange in sorted((one for one in moment if self._is_candidate(one)), key=self._order):
                heard = self._read(exchange)
                if heard is not None:
                    yield heard

    def _is_candidate(self, exchange: Exchange) -> bool:
        return exchange.request.exchange_id in self._positions

    def _order(self, exchange: Exchange) -> tuple[int, int]:
        return self._agents[exchange.request.identity.agent_id], self._positions[exchange.request.exchange_id]

    def _read(self, exchange: Exchange) -> Heard | None:
        try:
            prompt, answer = _read_bodies(exchange)
        except WireError:
            self.rejected["unparsable"] += 1
            return None
        if not answer.parts and not answer.complete:
            self.rejected["error" if answer.error else "no_answer"] += 1
            return None
        return Heard(exchange, self._positions[exchange.request.exchange_id], prompt, answer)


def _read_bodies(exchange: Exchange) -> tuple[Prompt, Answer]:
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
