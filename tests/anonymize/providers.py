"""Observed sessions whose provider's rule of counting is known: text at its own ratios, framing, a hidden prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from anonymize.calibration import Provider
from anonymize.features import INDEX, TEXT_ROLES, Terms, as_vector, prompt_terms
from anonymize.observing import Counted, Node, Observed
from corpus.session import Role

type Rule = Callable[[Terms], float]

RATIOS = dict(zip(TEXT_ROLES, (1.1, 1.6, 1.2, 1.3, 1.5, 1.7, 1.2, 1.1), strict=True))


def exact(terms: Terms) -> float:
    """Tokens of one segment: a ratio by role, four for framing, 350 in front."""
    vector = as_vector(terms)
    text = sum(RATIOS[role] * vector[INDEX[f"{role}_tokens"]] + 4 * vector[INDEX[f"{role}_pieces"]] for role in RATIOS)
    return float(text + 350 * vector[INDEX["hidden_prompt"]])


def sessions(
    seed: int, count: int, rule: Rule = exact, *, model: str = "claude-opus-5-5", provider: Provider = "anthropic"
) -> list[Observed]:
    """Growing conversations of about twelve requests each."""
    random = np.random.default_rng(seed)
    return [_session(random, rule, model, provider) for _ in range(count)]


def _session(random: np.random.Generator, rule: Rule, model: str, provider: Provider) -> Observed:
    nodes = [Node(-1, "system", 0, prompt_terms("tools")), _node(random, 0, "tools"), _node(random, 1, "system")]
    requests = []
    for _ in range(int(random.integers(8, 16))):
        for role in random.choice(np.array(TEXT_ROLES[2:]), size=3):
            nodes.append(_node(random, len(nodes) - 1, role))
        requests.append(_counted(nodes, rule, model, provider))
    return Observed(tuple(nodes), tuple(requests), 0)


def _node(random: np.random.Generator, before: int, role: Role) -> Node:
    tokens = int(random.lognormal(6, 1)) + 1
    first = INDEX[f"{role}_tokens"]
    size = float(tokens * random.uniform(2.5, 4.5))
    return Node(before, role, tokens + 1, ((first, float(tokens)), (first + 1, size), (first + 2, 1.0)))


def _counted(nodes: Sequence[Node], rule: Rule, model: str, provider: Provider) -> Counted:
    features = np.sum([as_vector(node.terms) for node in nodes], axis=0)
    tokens = round(sum(rule(node.terms) for node in nodes))
    return Counted(model, provider, len(nodes) - 1, tokens, sum(node.tokens for node in nodes), features)
