"""What a server's chat template adds to a conversation, learnt from its own counts, and taken off the content; pure.

Templates put tokens around every item: so many for each kind of item behind each other kind, before the first and
behind the last. A few tiny conversations (`PROBES`), whose content is known, give one equation each, and together they
tell what any conversation costs that `items_of` can make. Every item's content then gives up what its frame takes, so
that the whole counts what was planned and a history that is repeated stays the same to the byte.

Where a prompt ends, the template opens the answer, and those tokens must come off the prompt's end: taken off its
beginning, all content would stand that much before its place, and where two prompts part the last block they share
would reach into what they do not. Counts tell only sums, never which side of an item a token stands on. So what stands
before content is taken to be as little as it can be: content then stands at its place or some tokens behind it, and
every block that was planned to be shared is shared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.content import Span
from replay.items import ANY_MANNERS, Item, Kind, Manners

START: Final = "start"
END: Final = "end"
Step = tuple[str, str]  # from one kind of item (or START) to the next (or END)

PROBE_TOKENS: Final = 3  # content of every item of a probe
LARGE_TOKENS: Final = 11  # ... and of the calls or results of one that asks whether they are counted
PROBES: Final[tuple[tuple[Kind, ...], ...]] = (
    ("user",),
    ("system", "user"),
    ("user", "call", "result"),
    ("user", "assistant", "user"),
    ("system", "assistant", "user"),
    ("assistant", "user"),
    ("call", "result"),
    ("system", "call", "result"),
    ("user", "assistant", "call", "result"),
    ("user", "call", "call", "result", "result"),
    ("user", "call", "result", "user"),
    ("user", "call", "result", "assistant", "user"),
    ("user", "call", "result", "call", "result"),
    ("user", "call", "user", "result"),
    ("user", "call", "call", "result", "user", "result"),
)
_CLOSING_TOKENS: Final = 8  # the marks that close a result are longer than those of a user's words by at most this
_EXACT: Final = 1e-6
_GRAIN: Final = 4096  # costs are multiples of one in so many, so that rounding is the same on every machine


class Heard(NamedTuple):
    """What the server counted of a probe."""

    kinds: tuple[Kind, ...]
    content_tokens: int
    counted_tokens: int

    @property
    def added_tokens(self) -> int:
        return self.counted_tokens - self.content_tokens


@dataclass(frozen=True, slots=True)
class Framing:
    """`costs`: tokens a step adds; `off_by`: the worst a probe is missed by."""

    costs: Mapping[Step, float] = field(default_factory=dict)
    manners: Manners = ANY_MANNERS
    off_by: float = 0.0

    def spans(self, items: Sequence[Item]) -> list[Span]:
        """The tokens of each item that go out, at least one; what a short item cannot give up, the ones before it do.

        Whoever repeats a prompt repeats its short last item, too, so both give it up in the same place.
        """
        before = START
        owed: list[float] = []  # up to where the item's content begins
        for item in items:
            owed.append((owed[-1] if owed else 0.0) + self.costs.get((before, item.kind), 0.0))
            before = item.kind
        ends = [item.stop - self.costs.get((item.kind, END), 0.0) for item in items]
        sent = [math.floor(end - cost + 0.5 + _EXACT) for end, cost in zip(ends, owed, strict=True)]
        for number in reversed(range(len(sent) - 1)):
            sent[number] = min(sent[number], sent[number + 1] - 1)
        spans: list[Span] = []
        at = 0
        for item, cost, whole in zip(items, owed, sent, strict=True):
            tokens = max(whole - at, 1)
            at += tokens
            stop = max(min(at + round(cost), item.stop), tokens)
            spans.append(Span(stop - tokens, stop, flat=item.kind == "call"))
        return spans

    def describe(self) -> dict[str, object]:
        """JSON values, for `config.json`."""
        return {
            "costs": {f"{before} {kind}": cost for (before, kind), cost in sorted(self.costs.items())},
            "sent_as_text": sorted(self.manners.refused),
            "opens_with_user": self.manners.user_opens,
            "off_by_tokens": self.off_by,
        }


NO_FRAMING: Final = Framing()  # of token ids, and of a server that was not asked


def steps(kinds: Sequence[Kind]) -> list[Step]:
    return list(pairwise((START, *kinds, END)))


def probes_for(kinds: frozenset[Kind]) -> list[tuple[Kind, ...]]:
    """Those that a run with such items needs, the smallest first."""
    return [probe for probe in PROBES if {"user", *kinds} >= set(probe)]


def learn(heard: Sequence[Heard], manners: Manners = ANY_MANNERS) -> Framing:
    """The costs that explain all probes best; exact where the template is as regular as templates are."""
    known = sorted({step for one in heard for step in steps(one.kinds)})
    if not known:
        return Framing(manners=manners)
    equations = np.array([[steps(one.kinds).count(step) for step in known] for one in heard], dtype=np.float64)
    added = np.array([one.added_tokens for one in heard], dtype=np.float64)
    sides, amounts = _sides(known)
    found = np.linalg.lstsq(np.vstack([equations, sides]), np.concatenate([added, amounts]), rcond=None)[0]
    costs = np.round(found * _GRAIN) / _GRAIN
    off_by = float(np.abs(equations @ costs - added).max())
    told = dict(zip(known, costs.tolist(), strict=True))
    return Framing(told, manners, 0.0 if off_by < 0.01 else round(off_by, 3))


def _sides(known: Sequence[Step]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """One equation a kind for what no count tells: how much of what surrounds it stands before it, and how much behind.

    Nothing stands before it at the start of a prompt, or behind the user where it cannot start one; what that is too
    little by shows behind it. A result follows a call alone, and is closed much as the user's words are.
    """
    rows, amounts = [], []
    for kind in sorted({kind for _, kind in known} - {END}):
        row = np.zeros(len(known))
        if kind == "result":
            row[known.index(("result", END))], row[known.index(("user", END))] = 1, -1
        else:
            row[known.index((START, kind) if (START, kind) in known else ("user", kind))] = 1
        rows.append(row)
        amounts.append(_CLOSING_TOKENS if kind == "result" else 0.0)
    return np.array(rows), np.array(amounts)
