"""The order in which a server would see the requests of many sessions: sessions on lanes, one after another on each.

A free lane takes the next session. Inside a session requests keep their recorded distances, except that a session
never idles longer than a cap, as in a replay. What a session's requests ask of a cache is kept as columns, so a large
corpus fits in memory.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corpus.graph import end_us
from corpus.session import Session
from report.prompt_tree import Ints, PromptTree


@dataclass(frozen=True, slots=True)
class Prompts:
    """What the requests of one session ask of a cache; columns by request number."""

    block_tokens: int
    tree: PromptTree
    blocks: Ints  # whole blocks of the prompt
    usable: Ints  # of them, those that may come from a cache: the last prompt token is always computed
    answer_blocks: Ints  # blocks that are whole only with the answer's tokens; the last token sampled is never stored
    input_tokens: Ints
    offset_us: Ints  # start, from the session's first, idle stretches capped
    length_us: int  # until its last end


@dataclass(frozen=True, slots=True)
class Visits:
    """Requests in the order of time; parallel columns."""

    session: Ints  # index into the sessions given
    request: Ints
    at_us: Ints
    is_last: NDArray[np.bool_]  # no later visit is of its session


def prompts_of(session: Session, idle_cap_us: int) -> Prompts:
    size = session.block_size
    requests = session.requests
    prompt = np.array([r.input_tokens for r in requests], dtype=np.int64)
    listed = np.array([r.blocks.keep + sum(r.blocks.run_len) for r in requests], dtype=np.int64)
    answer = np.array([max(1, r.output_tokens or 1) for r in requests], dtype=np.int64)
    blocks = np.minimum(listed, prompt // size)  # a source that rounds up lists one more than is whole
    start = np.array([r.t_start_us for r in requests], dtype=np.int64)
    end = np.array([max(end_us(r), r.t_start_us) for r in requests], dtype=np.int64)
    offset = _capped(start, end, idle_cap_us)
    return Prompts(
        block_tokens=size,
        tree=PromptTree([r.blocks for r in requests]),
        blocks=blocks,
        usable=np.minimum(blocks, np.maximum(prompt - 1, 0) // size),
        answer_blocks=(prompt + answer - 1) // size - prompt // size,
        input_tokens=prompt,
        offset_us=offset,
        length_us=int((offset + end - start).max(initial=0)),
    )


def visits_of(sessions: Sequence[Prompts], lanes: int) -> Visits:
    """All requests of all sessions, in the order of their starts; at the same moment the earlier session goes first."""
    free = [(0, lane) for lane in range(lanes)]
    begins = []
    for prompts in sessions:
        begin, lane = free[0]
        begins.append(begin)
        heapq.heapreplace(free, (begin + prompts.length_us, lane))
    counts = [len(prompts.blocks) for prompts in sessions]
    session = np.repeat(np.arange(len(sessions), dtype=np.int64), counts)
    request = np.concatenate([np.arange(count, dtype=np.int64) for count in counts] or [session])
    offsets = np.concatenate([prompts.offset_us for prompts in sessions] or [session])
    at_us = np.repeat(np.array(begins, dtype=np.int64), counts) + offsets
    order = np.lexsort((request, session, at_us))
    is_last = request == (np.array(counts, dtype=np.int64) - 1)[session]
    return Visits(session[order], request[order], at_us[order], is_last[order])


def _capped(start: Ints, end: Ints, cap_us: int) -> Ints:
    """Starts on a clock that skips what is longer than the cap while nothing runs."""
    if not len(start):
        return start
    busy_until = np.maximum.accumulate(end)[:-1]
    skipped = np.cumsum(np.maximum(start[1:] - busy_until - cap_us, 0))
    offset: Ints = start - start[0] - np.concatenate(([0], skipped))
    return offset
