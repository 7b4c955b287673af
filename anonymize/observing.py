"""What a calibration learns from: every request as a path in a tree of distinct prefixes, with the provider's count.

A session of a thousand requests has a few thousand distinct segments at distinct places; features are summed along the
tree once, so a request costs one row however long its prompt is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from anonymize.calibration import Provider, provider_of
from anonymize.features import HiddenPrompt, Terms, Vector, as_vector, prompt_terms, segment_terms
from anonymize.hearing import Heard, Hearing
from anonymize.segments import placed_parts
from anonymize.sizing import hidden_prompt
from anonymize.thoughts import Thoughts
from anonymize.tokens import SegmentTokens
from anonymize.words import public_model
from corpus.exchange import Exchange
from corpus.session import Role
from corpus.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Node:
    """One segment behind one prefix; the root's `before` is -1. A chain begins with the hidden prompt's node."""

    before: int
    role: Role
    tokens: int  # local, control token included; 0 for the hidden prompt
    terms: Terms


@dataclass(frozen=True, slots=True)
class Counted:
    """One request that the provider counted."""

    model: str  # public name
    provider: Provider
    leaf: int  # number of its last node
    tokens: int  # the provider's count
    local_tokens: int
    features: Vector
    repeated_tokens: int = 0  # of the local ones: those that an earlier request of the session began with
    read_tokens: int | None = None  # from the provider's cache, as it says


@dataclass(frozen=True, slots=True)
class Observed:
    """One session: nodes in order of first appearance, counted requests in order of time."""

    nodes: tuple[Node, ...]
    requests: tuple[Counted, ...]
    uncounted: int  # requests without a usable count


def observe(exchanges: Iterable[Exchange], heads: Iterable[Exchange], tokenizer: Tokenizer) -> Observed:
    """`heads`: the session without bodies; `exchanges`: by time and with them. Asides count like any other request."""
    tree = _Tree(tokenizer)
    for heard in Hearing(heads, keep_aux=True).requests(exchanges):
        tree.take(heard)
    return Observed(tuple(tree.nodes), tuple(tree.requests), tree.uncounted)


class _Tree:
    def __init__(self, tokenizer: Tokenizer) -> None:
        self.nodes: Final[list[Node]] = []
        self.requests: Final[list[Counted]] = []
        self.uncounted = 0
        self._segments = SegmentTokens(tokenizer)
        self._thoughts = Thoughts(self._segments)
        self._roots: dict[tuple[str, HiddenPrompt], int] = {}
        self._children: dict[tuple[int, int], int] = {}  # (node, segment number) -> node
        self._sums: list[tuple[int, Vector]] = []  # local tokens and features up to each node

    def take(self, heard: Heard) -> None:
        leaf = repeated = self._root(heard)
        for segment, _ in placed_parts(heard.prompt):
            handle = self._segments.handle(segment)
            if (leaf, handle) in self._children:
                repeated = self._children[leaf, handle]
            else:
                self._children[leaf, handle] = self._grow(leaf, handle)
            leaf = self._children[leaf, handle]
        self._thoughts.hear(heard.answer, heard.usage)
        tokens, provider = heard.counted_tokens, provider_of(heard.exchange.request.api)
        if tokens is None:
            self.uncounted += 1
        else:
            read = heard.usage.cache_read_tokens if heard.usage else None
            known, sums = self._sums[repeated][0], self._sums[leaf]
            self.requests.append(Counted(public_model(heard.model), provider, leaf, tokens, *sums, known, read))

    def _root(self, heard: Heard) -> int:
        key = heard.model, hidden_prompt(heard)
        if key not in self._roots:
            self._roots[key] = self._add(Node(-1, "system", 0, prompt_terms(key[1])))
        return self._roots[key]

    def _grow(self, before: int, handle: int) -> int:
        one = self._segments.interned(handle)
        terms = segment_terms(one, self._thoughts.born(handle))
        return self._add(Node(before, one.role, len(one.tokens), terms))

    def _add(self, node: Node) -> int:
        tokens, features = self._sums[node.before] if node.before >= 0 else (0, np.float64(0))
        self._sums.append((tokens + node.tokens, features + as_vector(node.terms)))
        self.nodes.append(node)
        return len(self.nodes) - 1
