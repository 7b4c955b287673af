"""What an infinite prefix cache would have served of the requests that were sent, in the order they were sent.

Every block is computed once, by the first request that brings it, and served to all who are sent later, also while that
request is still being computed. That is the most any cache can do, and what vLLM does: its scheduler lists a prompt's
blocks as it schedules them and serves first come first, so a later request finds all of an earlier one's prompt. The
last prompt token is always computed, so a prompt that is there whole still misses its last block. Plays share nothing,
because the first block of every prompt differs between them; within a play block ids are chained, so equal ids have
equal prefixes. A server may queue requests sent within milliseconds of each other in another order: then they swap
shares, and a play's sum stays, but for such last blocks.
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
    for _, index in sorted((row.sent_us, index) for index, row in enumerate(rows) if row.sent_us is not None):
        row = rows[index]
        blocks = prompts[row.request]
        size = session.block_size
        keys = blocks[: whole_blocks(row.planned_input_tokens, len(blocks), size)].tolist()
        predicted[index] = min(cache.match(keys), (row.planned_input_tokens - 1) // size) * size
        if row.status == 200:  # what the server refused, or never heard, was not computed
            cache.insert(keys)
    return predicted
