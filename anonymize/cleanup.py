"""Decides which exchanges become requests of the corpus, and counts the others by reason.

A corpus is the model work an agent waited for: requests that were answered, once each. The table is read from the top,
the first rule that applies names the reason. Attempts that came to nothing (`ATTEMPTS`) are folded into the request
that came of them, which keeps its own times and tells of them (`anonymize.attempts`), unless they are asked for. Four
are found only later: `unparsable`, `history_missing`, `duplicate` and `over_max_input_tokens` when bodies are read,
`poison_session` when the whole session could not be worked on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, Literal, get_args

from corpus.exchange import Exchange, Purpose
from wire.api import Api

Reason = Literal[
    "not_generating",
    "title",
    "side_question",
    "memory",
    "security_monitor",
    "retried",
    "no_answer",
    "error",
    "unparsable",
    "history_missing",
    "duplicate",
    "over_max_input_tokens",
    "poison_session",
]

REJECTIONS: Final[frozenset[str]] = frozenset(get_args(Reason))

ATTEMPTS: Final[frozenset[Reason]] = frozenset({"retried", "error", "no_answer"})
_GENERATING: Final[frozenset[Api]] = frozenset(
    {"anthropic-messages", "openai-responses", "openai-responses-ws", "openai-chat"}
)
_NOT_GENERATING: Final[frozenset[Purpose]] = frozenset({"count_tokens", "probe", "prewarm"})
# Auxiliary requests that are left out unless asked for: nobody waits for the first three, and the security monitors
# (Claude Code's auto mode, Codex's guardian) say more about the user's settings than about the work. Searches, page
# summaries, hooks, reviews and compactions stay: the agent waits for them.
_AUX_REASONS: Final[dict[Purpose, Reason]] = {
    "title": "title",
    "side_question": "side_question",
    "memory": "memory",
    "classifier": "security_monitor",
    "guardian": "security_monitor",
}


@dataclass(frozen=True, slots=True)
class _Rule:
    reason: Reason
    applies: Callable[[Exchange, Collection[str]], bool]  # exchange, ids of attempts that were repeated


def _aux(reason: Reason) -> _Rule:
    return _Rule(reason, lambda exchange, _: _AUX_REASONS.get(exchange.request.identity.purpose) == reason)


def _status(exchange: Exchange) -> int | None:
    return exchange.response.status if exchange.response else None


def _is_error(exchange: Exchange) -> bool:
    status = _status(exchange)
    return status is not None and status >= 400


def _has_no_answer(exchange: Exchange) -> bool:
    return _status(exchange) is None or not (exchange.response and exchange.response.body_bytes)


_ALWAYS: Final = (
    _Rule("not_generating", lambda exchange, _: exchange.request.api not in _GENERATING),
    _Rule("not_generating", lambda exchange, _: exchange.request.identity.purpose in _NOT_GENERATING),
)
_UNLESS_AUX: Final = tuple(_aux(reason) for reason in dict.fromkeys(_AUX_REASONS.values()))
_OUTCOME: Final = (
    _Rule("retried", lambda exchange, repeated: exchange.request.exchange_id in repeated),
    _Rule("error", lambda exchange, _: _is_error(exchange)),
    _Rule("no_answer", lambda exchange, _: _has_no_answer(exchange)),
)


def reason_to_reject(
    exchange: Exchange, repeated: Collection[str], *, keep_aux: bool, keep_failed: bool = False
) -> Reason | None:
    """Why this exchange stays out, judged without reading its bodies; None when it is kept."""
    rules = (*_ALWAYS, *(() if keep_aux else _UNLESS_AUX), *(() if keep_failed else _OUTCOME))
    return next((rule.reason for rule in rules if rule.applies(exchange, repeated)), None)


def repeated_attempts(exchanges: Collection[Exchange]) -> frozenset[str]:
    """Ids of the attempts that a later exchange repeats."""
    return frozenset(exchange.request.retry_of for exchange in exchanges if exchange.request.retry_of is not None)
