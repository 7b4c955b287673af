"""Sessions of a corpus that are copies of each other, or grew out of one another.

Copies are equal in everything but their name and number. Forks share more than 30 % of their requests, told by
(model, prompt length, answer length), of the shorter of the two, and at least three: lengths are as good as a name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Final

from corpus.session import Session

_FORK_SHARE: Final = 0.3
_FORK_LEAST: Final = 3
# A triple in more sessions than this says nothing about any two of them.
_COMMON: Final = 200


@dataclass(slots=True)
class Lookalikes:
    """Takes sessions one by one, keeping numbers only."""

    _labels: list[str] = field(default_factory=list)
    _copies: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    _sizes: list[int] = field(default_factory=list)
    _holders: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, session: Session) -> None:
        number = len(self._labels)
        self._labels.append(session.label)
        same = (session.models, session.agents, session.requests, session.tool_calls)
        self._copies[hash(same)].append(number)
        triples = {
            hash((session.models[r.model], r.input_tokens, r.output_tokens)) for r in session.requests if r.input_tokens
        }
        self._sizes.append(len(triples))
        for triple in triples:
            self._holders[triple].append(number)

    def copies(self) -> list[list[str]]:
        """Names of sessions that are the same, a list a group."""
        return [self._named(group) for group in self._copies.values() if len(group) > 1]

    def forks(self) -> list[list[str]]:
        """Names of sessions that hang together by shared requests; of copies the first stands for all."""
        copies = {number for group in self._copies.values() for number in group[1:]}
        shared: Counter[tuple[int, int]] = Counter()
        for holders in self._holders.values():
            firsts = [number for number in holders if number not in copies]
            if len(firsts) <= _COMMON:
                shared.update((a, b) for n, b in enumerate(firsts) for a in firsts[:n])
        above = list(range(len(self._labels)))

        def root(number: int) -> int:
            while above[number] != number:
                number = above[number]
            return number

        for (a, b), count in shared.items():
            if count >= _FORK_LEAST and count > _FORK_SHARE * min(self._sizes[a], self._sizes[b]):
                above[root(b)] = root(a)
        groups: dict[int, list[int]] = defaultdict(list)
        for number in range(len(above)):
            groups[root(number)].append(number)
        return [self._named(group) for group in groups.values() if len(group) > 1]

    def _named(self, group: list[int]) -> list[str]:
        return [self._labels[number] for number in group]
