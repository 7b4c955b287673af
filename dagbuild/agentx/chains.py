"""Which requests of one list belong to the same agent, judged by their prompts alone.

1. In order of time, a request extends the chain whose last prompt it repeats whole, on the same model, once that last
   request has ended. The deepest such chain wins. Any other request founds a chain, a fork of the chain whose last
   prompt it shares most of.
2. Where nothing ever extended a chain, one of the forks off its last request is the same agent after a compaction: the
   deepest that begins after it, on the same model, unless it comes over an hour later and shares less than half.
   What else forked off there is then compared with the new last request.

Requests without blocks give no evidence and stay with the first chain. A first request that nothing else resembles is
a preamble, such as a title: it founds nothing.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from corpus.blocks import expand_blocks
from corpus.session import Request
from dagbuild.agentx.entries import EPSILON_S, Call
from dagbuild.prefixes import Prefixes

_MAX_SEAM_GAP_S: Final = 3600.0
_MIN_SEAM_OVERLAP: Final = 0.5
_PREAMBLE_TOKENS: Final = 64  # answers up to this length are titles, not turns


@dataclass(slots=True, eq=False)
class Chain:
    number: int
    calls: list[Call] = field(default_factory=list)
    fork_of: Call | None = None  # the last request of the chain that it shares `depth` blocks with
    depth: int = 0
    merged: bool = False

    @property
    def tail(self) -> Call | None:
        """The last request that has blocks."""
        return next((call for call in reversed(self.calls) if call.blocks), None)


@dataclass(frozen=True, slots=True)
class Detected:
    main: list[Call]  # with the preamble, in order of time
    yardstick: list[Call]  # main without the preamble: what workers are measured against
    workers: list[Chain]  # by first request


def in_time(call: Call) -> tuple[float, int]:
    return call.start_s, call.place


def detect_chains(calls: Sequence[Call], prefixes: Prefixes, requests: Sequence[Request]) -> Detected:
    preamble = _preamble(calls, prefixes, requests)
    rest = sorted((call for call in calls if call is not preamble), key=in_time)
    if not rest:
        return Detected([], [], [])
    chains = _Chains(prefixes)
    for call in rest:
        chains.place(call)
    chains.mend()
    main = chains.of[rest[0].place]
    workers = sorted(
        (chain for chain in chains.all if not chain.merged and chain is not main), key=lambda c: in_time(c.calls[0])
    )
    whole = sorted([preamble, *main.calls], key=in_time) if preamble else list(main.calls)
    return Detected(whole, list(main.calls), workers)


def _preamble(calls: Sequence[Call], prefixes: Prefixes, requests: Sequence[Request]) -> Call | None:
    if len(calls) < 2:
        return None
    first = min(calls, key=in_time)
    others = [call for call in calls if call is not first]
    if not first.blocks or any(prefixes.shared(first.request, call.request) for call in others):
        return None
    if first.output_tokens <= _PREAMBLE_TOKENS:
        return first
    lists = expand_blocks([request.blocks for request in requests])
    reused = any(np.isin(lists[call.request], lists[first.request]).any() for call in others)
    return None if reused else first


class _Chains:
    def __init__(self, prefixes: Prefixes) -> None:
        self.all: list[Chain] = []
        self.of: dict[int, Chain] = {}  # by place
        self._calls: dict[int, Call] = {}
        self._tails: list[Call | None] = []  # of `all`, while requests are placed
        self._forks: defaultdict[int, list[Chain]] = defaultdict(list)  # by place of the request they forked off
        self._prefixes = prefixes

    def place(self, call: Call) -> None:
        self._calls[call.place] = call
        if not call.blocks or not self.all:
            self._append(self.all[0] if self.all else self._found(), call)
            return
        shared = self._prefixes.row(call.request)
        extended = self._extended(call, shared)
        if extended is None and not any(self._tails):
            extended = self.all[0]  # so far only requests without blocks
        if extended is not None:
            self._append(extended, call)
            return
        parent = self._nearest(shared)
        chain = self._found()
        if parent is not None:
            chain.fork_of, chain.depth = parent, shared[parent.request]
            self._forks[parent.place].append(chain)
        self._append(chain, call)

    def _found(self) -> Chain:
        self.all.append(Chain(len(self.all)))
        self._tails.append(None)
        return self.all[-1]

    def _append(self, chain: Chain, call: Call) -> None:
        chain.calls.append(call)
        self.of[call.place] = chain
        if call.blocks:
            self._tails[chain.number] = call

    def _extended(self, call: Call, shared: list[int]) -> Chain | None:
        best, depth = None, 0
        for chain, tail in zip(self.all, self._tails, strict=True):
            if (
                tail is not None
                and tail.blocks > depth
                and shared[tail.request] == tail.blocks
                and tail.model == call.model
                and tail.end_s <= call.start_s + EPSILON_S
            ):
                best, depth = chain, tail.blocks
        return best

    def _nearest(self, shared: list[int]) -> Call | None:
        tails = [tail for tail in self._tails if tail is not None and shared[tail.request]]
        return max(tails, key=lambda tail: (shared[tail.request], tail.blocks), default=None)

    def mend(self) -> None:
        """Step 2: waiting requests are visited by place, again after their forks were compared anew."""
        waiting = list(self._forks)
        heapq.heapify(waiting)
        visited: set[int] = set()
        while waiting:
            place = heapq.heappop(waiting)
            if place in visited:
                continue
            visited.add(place)
            tail, chain = self._calls[place], self.of[place]
            forks = [fork for fork in self._forks[place] if not fork.merged]
            elected = _continuation(tail, forks) if chain.tail is tail else None
            if elected is None:
                continue
            self._merge(elected, chain)
            if (longer := chain.tail) and self._compare_anew(forks, longer):
                visited.discard(longer.place)
                heapq.heappush(waiting, longer.place)

    def _merge(self, elected: Chain, chain: Chain) -> None:
        chain.calls += elected.calls
        self.of.update((call.place, chain) for call in elected.calls)
        elected.merged = True

    def _compare_anew(self, forks: list[Chain], tail: Call) -> bool:
        moved = False
        for fork in forks:
            depth = 0 if fork.merged else self._prefixes.shared(tail.request, fork.calls[0].request)
            if depth:
                fork.fork_of, fork.depth, moved = tail, depth, True
                self._forks[tail.place].append(fork)
        return moved


def _continuation(tail: Call, forks: list[Chain]) -> Chain | None:
    able = [fork for fork in forks if _may_continue(tail, fork)]
    return max(able, key=lambda fork: (fork.depth, -fork.calls[0].start_s, -fork.number), default=None)


def _may_continue(tail: Call, fork: Chain) -> bool:
    first = fork.calls[0]
    if fork.depth == 0 or tail.end_s > first.start_s + EPSILON_S or tail.model != first.model:
        return False
    return first.start_s - tail.end_s <= _MAX_SEAM_GAP_S or fork.depth >= _MIN_SEAM_OVERLAP * tail.blocks
