"""What the size of a prompt depends on: one table of numbers per segment, summed over a prompt.

A provider's count is unknown per segment and known per prompt, so the model is linear: each role's text counts by
local tokens, by bytes (they tell dense text from prose, whatever tokenizer the provider uses) and by pieces (framing);
images, documents and ciphertext by their formula; a thought by the output it was when it was born. Three numbers belong
to no segment: the provider's own hidden prompt, and what it adds when there are tools and when one must be called.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from anonymize.tokens import Interned
from corpus.session import Role

type Vector = NDArray[np.float64]

TEXT_ROLES: Final[tuple[Role, ...]] = (
    *("system", "tools", "user", "assistant", "tool_call", "tool_result", "thinking", "reminder"),
)
_PLACEHOLDER_ROLES: Final[tuple[Role, ...]] = ("image", "document", "opaque")

FEATURES: Final = (
    "hidden_prompt",  # 1 a prompt
    "hidden_tools",  # 1 a prompt with tools
    "hidden_forced",  # 1 a prompt whose answer has to be a tool call
    *(f"{role}_{what}" for role in TEXT_ROLES for what in ("tokens", "bytes", "pieces")),
    *(f"{role}_tokens" for role in _PLACEHOLDER_ROLES),
    "thought_output",  # output tokens of the answers that the thoughts came in
    "thought_visible",  # minus the local tokens of what those answers said openly
)
INDEX: Final = {name: number for number, name in enumerate(FEATURES)}


@dataclass(frozen=True, slots=True)
class Born:
    """A thought's share of the answer it came in, tokens: the provider's output count, and the open part of it."""

    output: float
    visible: float


type Terms = tuple[tuple[int, float], ...]  # (feature, amount), all others 0


def segment_terms(one: Interned, born: Born | None) -> Terms:
    """Features of one segment. `born`: only for thoughts whose answer was heard."""
    tokens = float(len(one.tokens) - 1)
    if born is not None:
        return (INDEX["thought_output"], born.output), (INDEX["thought_visible"], -born.visible)
    if one.is_placeholder:
        return ((INDEX[f"{one.role}_tokens"], tokens),)
    role = one.role if one.role in TEXT_ROLES else "user"  # a text document is plain text
    first = INDEX[f"{role}_tokens"]
    return (first, tokens), (first + 1, float(one.text_bytes)), (first + 2, 1.0)


HiddenPrompt = Literal["plain", "tools", "forced"]  # what a provider puts in front of a prompt depends on this much


def prompt_terms(hidden: HiddenPrompt) -> Terms:
    """Features of the hidden prompt; a forced call comes on top of the tools."""
    numbers = {"hidden_prompt": True, "hidden_tools": hidden != "plain", "hidden_forced": hidden == "forced"}
    return tuple((INDEX[name], float(number)) for name, number in numbers.items())


def weigh(terms: Iterable[tuple[int, float]], coefficients: Vector) -> float:
    return float(sum(amount * coefficients[feature] for feature, amount in terms))


def as_vector(terms: Iterable[tuple[int, float]]) -> Vector:
    vector = np.zeros(len(FEATURES))
    for feature, amount in terms:
        vector[feature] += amount
    return vector
