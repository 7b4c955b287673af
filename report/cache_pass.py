"""One pass of all requests over the caches of all ranks: who goes where, and what each prompt finds there.

| policy | what goes first |
|---|---|
| lru | what was used longest ago |
| session-aware | all that finished sessions left, then what was used longest ago |

A request is served whole before the next one starts, and its blocks can be shared from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from report.lanes import Prompts, Visits
from report.reuse import Found, Reuse, ReuseLog, ReuseStack
from report.routing import Router, Routing

Policy = Literal["lru", "session-aware"]


@dataclass(frozen=True, slots=True)
class CacheSetup:
    policy: Policy = "lru"
    lanes: int = 1  # live sessions
    ranks: int = 1
    routing: Routing = "session"
    ttl_us: int | None = None  # what was not used for longer is lost
    dram_tokens: int = 0  # of one rank, as all capacities
    nvme_tokens: int = 0
    with_answers: bool = False  # blocks of answers stay, as in vLLM, though no later prompt has them


def measure_reuse(
    sessions: Sequence[Prompts], visits: Visits, setup: CacheSetup, capacity_tokens: int | None = None
) -> Reuse:
    """`capacity_tokens` (None: unlimited) matters to prefix routing alone, which looks at what a cache holds."""
    ranks = _Ranks(sessions, setup, capacity_tokens, visits.at_us.tolist())
    columns = visits.session.tolist(), visits.request.tolist(), visits.is_last.tolist()
    for visit, (session, request, is_last) in enumerate(zip(*columns, strict=True)):
        ranks.serve(visit, session, request)
        if is_last:
            ranks.end(session)
    return ranks.log.reuse()


class _Ranks:
    def __init__(
        self, sessions: Sequence[Prompts], setup: CacheSetup, capacity_tokens: int | None, at_us: list[int]
    ) -> None:
        self._sessions = sessions
        self._setup = setup
        self._capacity = capacity_tokens
        self._at_us = at_us
        self._router = Router(setup.routing, setup.ranks)
        self._stacks = [ReuseStack(len(at_us)) for _ in range(setup.ranks)]
        self.log = ReuseLog()

    def serve(self, visit: int, session: int, request: int) -> None:
        prompts = self._sessions[session]
        rank, found = self._place(visit, session, request)
        for stretch in found.stretches:
            self.log.add(visit, stretch, self._age_us(visit, stretch.stamp), prompts.block_tokens)
        answer = int(prompts.answer_blocks[request]) if self._setup.with_answers else 0
        self._stacks[rank].use(visit, session, prompts, request, found, answer)

    def end(self, session: int) -> None:
        self._router.over(session)
        if self._setup.policy == "session-aware":
            for stack in self._stacks:
                stack.forget(session, self._sessions[session])

    def _place(self, visit: int, session: int, request: int) -> tuple[int, Found]:
        prompts = self._sessions[session]
        if self._setup.routing != "prefix":
            rank = self._router.choose(session, ())
            return rank, self._stacks[rank].find(session, prompts, request)
        everywhere = [stack.find(session, prompts, request) for stack in self._stacks]
        served = [self._served_tokens(visit, prompts, request, found) for found in everywhere]
        rank = self._router.choose(session, served)
        self._router.sent(rank, int(prompts.input_tokens[request]) - served[rank])
        return rank, everywhere[rank]

    def _served_tokens(self, visit: int, prompts: Prompts, request: int, found: Found) -> int:
        blocks = 0
        for stretch in found.stretches:
            if self._setup.ttl_us is not None and self._age_us(visit, stretch.stamp) > self._setup.ttl_us:
                break
            room = stretch.blocks
            if self._capacity is not None:
                room = min(room, max(0, (self._capacity - stretch.depth_tokens) // prompts.block_tokens))
            blocks += room
        return min(blocks, int(prompts.usable[request])) * prompts.block_tokens

    def _age_us(self, visit: int, stamp: int) -> int:
        return self._at_us[visit] - self._at_us[stamp]
