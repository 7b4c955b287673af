"""Which steps of one agent belong to the same conversation, judged by their prompts.

An agent's id says who asked, not in which conversation: old clients and imported traces send several under one id, and
a hook talks under the id of the agent that it serves. Steps come by start, each takes the first rule that fits:

    rule       the step belongs to the conversation ...
    retry      of the attempt that it repeats
    extension  whose last prompt it repeats whole, once that step has ended; the longest such prompt wins
    seam       that ends here, with the longest prompt it shares something with: a compaction or a rewind
    reset      of the agent itself, when that ends here and the step shares nothing: a cleared history
    founding   none: it opens another conversation beside the agent's own

Beside the agent's own conversation, a seam needs more: the last answer there was no final one, and the step shares more
with it than with the first prompt of any other. Agents of one kind open alike and come one after the other.

"Ends here" looks ahead: no later step repeats that last prompt whole. So a step beside a conversation that goes on
afterwards is a stream of its own, and one after which the old prompt never comes back is the same conversation. What
the recorder heard under one agent id is one conversation more readily than what a trace lists: there, also a step
that overlaps a last one which nothing else continued goes on with it. In a trace, a lone step (no later one repeats it)
on another model takes over nothing, nor does a lone one that looks like a one-off reset anything; and a first one that
looks like one, or like a title, and shares nothing with the rest opens the conversation only if it ended before.

Differences to the reference harness, whose rules are in `agentx/`: docs/graph.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from corpus.graph import end_us
from corpus.session import Request
from dagbuild.one_offs import looks_like_one_off
from dagbuild.prefixes import Prefixes

_FINISHED: Final = frozenset({"end_turn", "stop"})
_TITLE_TOKENS: Final = 64  # a first answer up to this length is a title, not a turn


@dataclass(slots=True, eq=False)
class Chain:
    """Steps in order of start. `fork_of`: the step whose prompt the first one shares `depth` blocks with."""

    requests: list[Request] = field(default_factory=list)
    fork_of: Request | None = None
    depth: int = 0


def split_chains(steps: Sequence[Request], prefixes: Prefixes, *, heard: bool, tick_us: int) -> list[Chain]:
    """The agent's own conversation first (empty without steps), then those beside it by first step.

    `heard`: the agent ids are the client's own. `tick_us`: overlaps up to this are rounding.
    """
    chains = _Chains(steps, prefixes, heard=heard, tick_us=tick_us)
    for step in steps:
        chains.take(step)
    found = list(_superseded(chains.all, prefixes)) if heard else chains.all
    if not found:
        return [Chain()]
    own = found[_own(found, prefixes, heard=heard)]
    before = [chain for chain in found[: found.index(own)] if chains.ended(chain, own.requests[0])]
    own.requests[:0] = [step for chain in before for step in chain.requests]
    return [own, *(chain for chain in found if chain is not own and chain not in before)]


class _Chains:
    def __init__(self, steps: Sequence[Request], prefixes: Prefixes, *, heard: bool, tick_us: int) -> None:
        self.all: list[Chain] = []
        self._of: dict[int, Chain] = {}
        self._prefixes = prefixes
        self._heard = heard
        self._tick_us = tick_us
        self._repeated = _last_repeats(steps, prefixes)
        self._peak = max((step.input_tokens for step in steps), default=0)

    def take(self, step: Request) -> None:
        chain = self._retried(step) or self._alone(step) or self._extended(step) or self._continued(step)
        if chain is None:
            chain = self._founded(step)
        chain.requests.append(step)
        self._of[step.request] = chain

    def _retried(self, step: Request) -> Chain | None:
        return None if step.retry_of is None else self._of.get(step.retry_of)

    def _alone(self, step: Request) -> Chain | None:
        """Without blocks there is nothing to judge by."""
        return self.all[0] if self.all and not self._prefixes.counts[step.request] else None

    def _extended(self, step: Request) -> Chain | None:
        whole = [
            (self._prefixes.counts[chain.requests[-1].request], chain.requests[-1].model == step.model, number)
            for number, chain in enumerate(self.all)
            if self.ended(chain, step) and self._shares_all(chain.requests[-1], step)
        ]
        return self.all[max(whole)[2]] if whole else None

    def _continued(self, step: Request) -> Chain | None:
        able = [chain for chain in self.all if self.ended(chain, step) and self._may_follow(chain, step)]
        if not able:
            return None
        own = self.all[_own(self.all, self._prefixes, heard=self._heard)]
        seams = [chain for chain in able if self._may_mend(chain, step, own)]
        if seams:
            return max(seams, key=lambda chain: (self._shared(chain.requests[-1], step), chain.requests[-1].request))
        return own if own in able and self._may_reset(step) else None

    def _founded(self, step: Request) -> Chain:
        tails = [chain.requests[-1] for chain in self.all]
        nearest = max(tails, key=lambda tail: self._shared(tail, step), default=None)
        depth = 0 if nearest is None else self._shared(nearest, step)
        self.all.append(Chain(fork_of=nearest if depth else None, depth=depth))
        return self.all[-1]

    def _shared(self, one: Request, other: Request) -> int:
        return self._prefixes.shared(one.request, other.request)

    def _shares_all(self, tail: Request, step: Request) -> bool:
        count = self._prefixes.counts[tail.request]
        return count > 0 and self._shared(tail, step) == count

    def ended(self, chain: Chain, step: Request) -> bool:
        return end_us(chain.requests[-1]) <= step.t_start_us + self._tick_us

    def _may_follow(self, chain: Chain, step: Request) -> bool:
        """Whether the chain ends here and the step's model may take over."""
        tail = chain.requests[-1]
        if self._repeated[tail.request] >= step.request:
            return False
        return self._heard or tail.model == step.model or not self._is_lone(step)

    def _may_mend(self, chain: Chain, step: Request, own: Chain) -> bool:
        tail = chain.requests[-1]
        depth = self._shared(tail, step)
        if chain is own or depth == 0:
            return depth > 0
        openings = [self._shared(other.requests[0], step) for other in self.all if other is not chain]
        return tail.stop not in _FINISHED and depth > max(openings)

    def _may_reset(self, step: Request) -> bool:
        return self._heard or not (self._is_lone(step) and looks_like_one_off(step, self._peak))

    def _is_lone(self, step: Request) -> bool:
        return self._repeated[step.request] == step.request


def _last_repeats(steps: Sequence[Request], prefixes: Prefixes) -> dict[int, int]:
    """For each step the last one that repeats its whole prompt, itself where none does."""
    numbers = np.array([step.request for step in steps], dtype=np.intp)
    pairs = prefixes.pairs[np.ix_(numbers, numbers)]
    whole = pairs == pairs.diagonal()[:, None]
    last = len(steps) - 1 - whole[:, ::-1].argmax(axis=1) if len(steps) else numbers
    return dict(zip(numbers.tolist(), np.maximum(numbers[last], numbers).tolist(), strict=True))


def _superseded(chains: Sequence[Chain], prefixes: Prefixes) -> Iterator[Chain]:
    """Chains with those added that begin with all of a last step's prompt, although that step still ran."""
    into: dict[int, Chain] = {}  # by last step
    for chain in chains:
        left = chain.fork_of
        older = None if left is None else into.get(left.request)
        if left is not None and older is not None and chain.depth == prefixes.counts[left.request]:
            del into[left.request]
            older.requests.extend(chain.requests)
            into[older.requests[-1].request] = older
        else:
            into[chain.requests[-1].request] = chain
            yield chain


def _own(chains: Sequence[Chain], prefixes: Prefixes, *, heard: bool) -> int:
    """The first chain that is no throwaway; all may be, and what was heard is none."""
    if heard:
        return 0
    return next((number for number, chain in enumerate(chains) if not _is_throwaway(chain, chains, prefixes)), 0)


def _is_throwaway(chain: Chain, chains: Sequence[Chain], prefixes: Prefixes) -> bool:
    only, peak = chain.requests[0], max(step.input_tokens for other in chains for step in other.requests)
    if len(chain.requests) > 1 or not ((only.output_tokens or 0) <= _TITLE_TOKENS or looks_like_one_off(only, peak)):
        return False
    return not any(prefixes.shared(only.request, other.requests[0].request) for other in chains if other is not chain)
