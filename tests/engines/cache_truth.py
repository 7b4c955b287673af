"""What a block prefix cache that never evicts must have served, derived from a run's rows alone.

Independent of `replay.prediction`: sets of block ids instead of a cache. Requests are served in the order in which they
reach the server's queue. That is the order of `sent_us` unless two are under way at once: neither had its first token
when the other was sent. For those, the order is the server's own affair, and what is true is a range: at least what
surely came before, at most that and whatever may have.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corpus.blocks import expand_blocks
from corpus.run import SentRequest
from corpus.session import Session

Prompts = Mapping[int, list[int]]  # request -> block ids


@dataclass(frozen=True)
class Truth:
    """One request whose cached tokens the server told."""

    row: SentRequest
    least: int
    most: int

    @property
    def is_ambiguous(self) -> bool:
        return self.least != self.most

    @property
    def is_true(self) -> bool:
        return self.row.cached_tokens is not None and self.least <= self.row.cached_tokens <= self.most

    @property
    def is_predicted(self) -> bool:
        return self.row.cached_tokens == self.row.predicted_cached_tokens


def truths(rows: Sequence[SentRequest], sessions: Sequence[Session]) -> list[Truth]:
    prompts = {session.session: _prompts(session) for session in sessions}
    sizes = {session.session: session.block_size for session in sessions}
    plays: dict[int, list[SentRequest]] = defaultdict(list)
    for row in rows:
        if row.sent_us is not None:
            plays[row.play].append(row)
    found = []
    for play in plays.values():
        for row in play:
            if row.cached_tokens is not None:
                mine, size = prompts[row.session], sizes[row.session]
                before = [other for other in play if _surely_before(other, row)]
                perhaps = [other for other in play if other is not row and not _surely_before(row, other)]
                found.append(Truth(row, _hit(row, before, mine, size), _hit(row, perhaps, mine, size)))
    return found


def _prompts(session: Session) -> Prompts:
    """Blocks that the prompt fills: some sources list one more than fits."""
    expanded = expand_blocks([request.blocks for request in session.requests])
    return {
        request.request: expanded[request.request][: request.input_tokens // session.block_size].tolist()
        for request in session.requests
    }


def _surely_before(first: SentRequest, second: SentRequest) -> bool:
    assert second.sent_us is not None
    return first.first_token_us is not None and first.first_token_us <= second.sent_us


def _hit(row: SentRequest, others: Sequence[SentRequest], prompts: Prompts, size: int) -> int:
    """Ids are chained, so a block that was anywhere stands for the same blocks before it."""
    there = {block for other in others for block in prompts[other.request]}
    hits = 0
    for block in prompts[row.request]:
        if block not in there:
            break
        hits += 1
    return min(hits, (row.planned_input_tokens - 1) // size) * size  # the last token is always computed


def order_may_cost(found: Sequence[Truth], block_size: int) -> int:
    """How far a run's sum of cached tokens may lie from the predicted one.

    Whoever comes first computes a block and all others find it, so the order moves hits between requests and leaves
    their sum. Only a prompt that ends with its last block is worth a block less when it is there whole.
    """
    return sum(block_size for truth in found if truth.is_ambiguous and truth.row.planned_input_tokens % block_size == 0)
