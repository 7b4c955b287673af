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

import numpy as np

from corpus.blocks import expand_blocks
from corpus.run import SentRequest, with_prediction
from corpus.session import Session
from replay.plan import whole_blocks


def with_predictions(rows: Iterable[SentRequest], session_of: Callable[[int], Session]) -> list[SentRequest]:
    """The rows in the given order; `session_of` maps a session number to its session."""
    rows = list(rows)
    sessions: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for index, row in enumerate(rows):
        sessions[row.session][row.play].append(index)
    for number, plays in sessions.items():
        prompts = _Prompts(session_of(number))
        for indices in plays.values():
            for index, cached in zip(indices, prompts.predict([rows[index] for index in indices]), strict=True):
                rows[index] = with_prediction(rows[index], cached)
    return rows


def predict_play(rows: Sequence[SentRequest], session: Session) -> list[int | None]:
    """Cached tokens of every row of one play; None for a row that was not sent."""
    return _Prompts(session).predict(rows)


class _Prompts:
    """Of one session, its block ids numbered from 0: what a cache without limit holds is one flag a number."""

    def __init__(self, session: Session) -> None:
        prompts = expand_blocks([request.blocks for request in session.requests])
        new = [ids[request.blocks.keep :] for ids, request in zip(prompts, session.requests, strict=True)]
        known = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *new]))
        self._blocks = [np.searchsorted(known, ids) for ids in prompts]
        self._count = len(known)
        self._size = session.block_size

    def predict(self, rows: Sequence[SentRequest]) -> list[int | None]:
        held = np.zeros(self._count, dtype=np.bool_)
        predicted: list[int | None] = [None] * len(rows)
        for _, index in sorted((row.sent_us, index) for index, row in enumerate(rows) if row.sent_us is not None):
            row = rows[index]
            listed = self._blocks[row.request]
            blocks = listed[: whole_blocks(row.planned_input_tokens, len(listed), self._size)]
            hits = held[blocks]
            leading = len(hits) if hits.all() else int(hits.argmin())
            predicted[index] = min(leading, (row.planned_input_tokens - 1) // self._size) * self._size
            if row.status == 200:  # what the server refused, or never heard, was not computed
                held[blocks] = True
        return predicted
