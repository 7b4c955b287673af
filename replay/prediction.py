"""What an infinite prefix cache would have served of the requests that were sent, in the order they were sent.

A request's blocks are there from the moment of its first token, for whoever is sent then or later: requests in flight
together share nothing that neither has computed. The last prompt token is always computed, so a prompt that is there
whole still misses its last block. Plays share nothing, because the first block of every prompt differs between them;
within a play block ids are chained, so equal ids have equal prefixes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from corpus.blocks import expand_blocks
from corpus.prefix_cache import PrefixCache
from corpus.run import SentRequest
from corpus.session import Session
from replay.plan import whole_blocks


def with_predictions(rows: Iterable[SentRequest], session_of: Callable[[int], Session]) -> list[SentRequest]:
    """The rows in the given order; `session_of` maps a session number to its session."""
    rows = list(rows)
    plays: dict[int, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        plays[row.play].append(index)
    for indices in plays.values():
        mine = [rows[index] for index in indices]
        for index, cached in zip(indices, predict_play(mine, session_of(mine[0].session)), strict=True):
            rows[index] = replace(rows[index], predicted_cached_tokens=cached)
    return rows


def predict_play(rows: Sequence[SentRequest], session: Session) -> list[int | None]:
    """Cached tokens of every row of one play; None for a row that was not sent."""
    prompts = expand_blocks([request.blocks for request in session.requests])
    cache = PrefixCache(None)
    predicted: list[int | None] = [None] * len(rows)
    for _, is_send, index in _moments(rows):
        row = rows[index]
        blocks = prompts[row.request]
        size = session.block_size
        keys = blocks[: whole_blocks(row.planned_input_tokens, len(blocks), size)].tolist()
        if is_send:
            predicted[index] = min(cache.match(keys), (row.planned_input_tokens - 1) // size) * size
        else:
            cache.insert(keys)
    return predicted


def _moments(rows: Sequence[SentRequest]) -> list[tuple[int, bool, int]]:
    """(when, is it a send, row) in the order of time; what became available at a moment counts for a send at it."""
    moments = [(row.sent_us, True, index) for index, row in enumerate(rows) if row.sent_us is not None]
    moments += [(row.first_token_us, False, index) for index, row in enumerate(rows) if row.first_token_us is not None]
    return sorted(moments)
