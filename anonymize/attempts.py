"""Tries that came to nothing: refused, cut before anything was said, interrupted, or repeated by the client.

Clean-up leaves them out, the request that came of one tells of it: the repetition of the same body or, where the client
gave up on that body, the next request of the same conversation. Only when, how long and how it ended is kept. A try
that nothing followed is counted as left out and no more.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from corpus.exchange import End, Exchange
from corpus.purpose import STEPS
from corpus.session import Attempt

_Speaker = tuple[str | None, str | None, str]


@dataclass(frozen=True, slots=True)
class _Try:
    start_us: int
    end_us: int | None
    end: End
    status: int | None
    retry_of: str | None
    speaker: _Speaker


class Attempts:
    """`repeated`: ids of the tries whose very body came again. Tries and requests are told by start."""

    def __init__(self, repeated: Collection[str]) -> None:
        self._repeated: Final = repeated
        self._waiting: Final[dict[str, _Try]] = {}

    def failed(self, exchange: Exchange) -> None:
        heard, response = exchange.request, exchange.response
        self._waiting[heard.exchange_id] = _Try(
            start_us=heard.t_request_us,
            end_us=None if response is None else response.t_end_us,
            end=exchange.end,
            status=None if response is None else response.status,
            retry_of=heard.retry_of,
            speaker=_speaker(exchange),
        )

    def behind(self, exchange: Exchange) -> tuple[Attempt, ...]:
        """The tries that this request came of, by start; no other request is told of them."""
        start_us, speaker = exchange.request.t_request_us, _speaker(exchange)
        repeats = self._chain(exchange.request.retry_of)
        given_up = [
            name
            for name, one in self._waiting.items()
            if name not in self._repeated and one.speaker == speaker and (one.end_us or one.start_us) <= start_us
        ]
        found = dict.fromkeys([*repeats, *(name for last in given_up for name in self._chain(last))])
        tries = [(self._waiting.pop(name), name in repeats) for name in found]
        return tuple(
            Attempt(
                lead_us=start_us - one.start_us,
                duration_us=None if one.end_us is None else one.end_us - one.start_us,
                end=one.end,
                status=one.status,
                repeated=repeated,
            )
            for one, repeated in sorted(tries, key=lambda found: found[0].start_us)
        )

    def _chain(self, name: str | None) -> list[str]:
        chain = []
        while name is not None and name in self._waiting and name not in chain:
            chain.append(name)
            name = self._waiting[name].retry_of
        return chain


def _speaker(exchange: Exchange) -> _Speaker:
    """Who asked, in which conversation, for what kind of answer."""
    one = exchange.request.identity
    return one.agent_id, one.conversation, "step" if one.purpose in STEPS else one.purpose
