"""What a server's chat template adds to a conversation, learnt from its own counts, and taken off the content; pure.

Templates put tokens around every item: so many for each kind of item behind each other kind. A few tiny conversations
(`PROBES`), whose content is known, give one equation each, and together they tell what any conversation costs that
`items_of` can make. Every item's content then gives up what its frame takes, at its beginning, so that the whole counts
what was planned and a history that is repeated stays the same to the byte. Which of two neighbours a token belongs to
is often not to be told from counts, and does not matter: only sums do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from replay.content import Span
from replay.items import Item, Kind

START: Final = "start"
Step = tuple[str, str]  # from one kind of item (or START) to the next

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
    """`costs`: tokens a step adds; `refused`: kinds that go out as text; `off_by`: the worst a probe is missed by."""

    costs: Mapping[Step, float] = field(default_factory=dict)
    refused: frozenset[Kind] = frozenset()
    off_by: float = 0.0

    def spans(self, items: Sequence[Item]) -> list[Span]:
        """The tokens of each item that go out, at least one."""
        spans: list[Span] = []
        before, owed, sent = START, 0.0, 0
        for item in items:
            owed += self.costs.get((before, item.kind), 0.0)
            tokens = math.floor(item.stop - owed + 0.5 + _EXACT) - sent
            tokens = min(max(tokens, 1), item.stop)
            spans.append(Span(item.stop - tokens, item.stop, flat=item.kind == "call"))
            before, sent = item.kind, sent + tokens
        return spans

    def describe(self) -> dict[str, object]:
        """JSON values, for `config.json`."""
        return {
            "costs": {f"{before} {kind}": cost for (before, kind), cost in sorted(self.costs.items())},
            "sent_as_text": sorted(self.refused),
            "off_by_tokens": self.off_by,
        }


NO_FRAMING: Final = Framing()  # of token ids, and of a server that was not asked


def steps(kinds: Sequence[Kind]) -> list[Step]:
    return list(pairwise((START, *kinds)))


def probes_for(kinds: frozenset[Kind]) -> list[tuple[Kind, ...]]:
    """Those that a run with such items needs, the smallest first."""
    return [probe for probe in PROBES if {"user", *kinds} >= set(probe)]


def learn(heard: Sequence[Heard], refused: frozenset[Kind] = frozenset()) -> Framing:
    """The costs that explain all probes best; exact where the template is as regular as templates are."""
    known = sorted({step for one in heard for step in steps(one.kinds)})
    if not known:
        return Framing(refused=refused)
    equations = np.array([[steps(one.kinds).count(step) for step in known] for one in heard], dtype=np.float64)
    added = np.array([one.added_tokens for one in heard], dtype=np.float64)
    found = np.linalg.lstsq(equations, added, rcond=None)[0]
    costs = np.round(found * _GRAIN) / _GRAIN
    off_by = float(np.abs(equations @ costs - added).max())
    told = dict(zip(known, costs.tolist(), strict=True))
    return Framing(told, refused, 0.0 if off_by < 0.01 else round(off_by, 3))
