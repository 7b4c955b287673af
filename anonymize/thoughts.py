"""How large a thought is: what the answer it came in was billed for, less what that answer said openly.

A thought comes back in later prompts sealed, or as a summary, so its size cannot be read off it. OpenAI says how many
tokens went into reasoning; Anthropic only counts the whole output, of which the open part is counted here.
"""

from __future__ import annotations

from typing import Final

from anonymize.features import Born
from anonymize.placeholders import image_rule
from anonymize.segments import repeats_thinking, segment_of
from anonymize.tokens import SegmentTokens
from wire.shapes import Answer, Part, PartKind
from wire.usage import Usage

_HIDDEN: Final[frozenset[PartKind]] = frozenset({"thinking", "opaque"})


class Thoughts:
    """What was learned from a session's answers so far, by segment number."""

    def __init__(self, segments: SegmentTokens) -> None:
        self._segments = segments
        self._born: dict[int, Born] = {}

    def born(self, handle: int) -> Born | None:
        """None for what is no thought, and for thoughts whose answer was not heard."""
        return self._born.get(handle)

    def hear(self, answer: Answer, usage: Usage | None) -> None:
        """Learn from an answer; nothing when it held no thought, was not counted, or holds results of server tools."""
        parts = _without_seals(answer.parts)
        hidden = [part for part in parts if part.kind in _HIDDEN]
        if not hidden or usage is None or not usage.output_tokens or any(one.kind == "tool_result" for one in parts):
            return
        output, visible = float(usage.output_tokens), 0.0
        if usage.reasoning_tokens:
            output = float(usage.reasoning_tokens)
        else:
            visible = sum(self._tokens(part) for part in parts if part.kind not in _HIDDEN)
        sizes = [max(part.opaque_bytes, len(part.text), 1) for part in hidden]
        for part, size in zip(hidden, sizes, strict=True):
            share = size / sum(sizes)
            self._born.setdefault(self._handle(part), Born(output * share, visible * share))

    def _tokens(self, part: Part) -> float:
        return float(len(self._segments.interned(self._handle(part)).tokens))

    def _handle(self, part: Part) -> int:
        return self._segments.handle(segment_of(part, image_rule(None)))


def _without_seals(parts: tuple[Part, ...]) -> list[Part]:
    befores = (None, *parts)
    return [
        part
        for part, before in zip(parts, befores, strict=False)
        if part.kind != "billing" and not repeats_thinking(part, before)
    ]
