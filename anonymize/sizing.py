"""Decides how long each new segment of a prompt is: as the local tokenizer counts, or as a calibration says.

Asked only for segments that no earlier prompt had at this place, in order, so a decision is made once and stays with
the place (`anonymize.digests`): a later turn or a fork that begins alike finds the same tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, get_args

from anonymize.calibration import Calibration, Fit, pinned_lengths, provider_of
from anonymize.features import HiddenPrompt, prompt_terms, segment_terms
from anonymize.hearing import Heard
from anonymize.segments import Segment
from anonymize.thoughts import Thoughts
from anonymize.tokens import SegmentTokens, Tokens, resized
from anonymize.words import public_model

# Stand for the provider's own prompt.
_HIDDEN: Final = {
    hidden: Segment("system", "", f"{number:032x}") for number, hidden in enumerate(get_args(HiddenPrompt), 1)
}


class Sizing:
    """Sizes of one session's segments. Without a calibration nothing that a provider counted changes a size."""

    def __init__(self, segments: SegmentTokens, calibration: Calibration | None) -> None:
        self._segments = segments
        self._calibration = calibration
        self._thoughts = Thoughts(segments)

    def front(self, heard: Heard) -> tuple[int, ...]:
        """Numbers of the segments that stand before the prompt's own: the hidden prompt, if the fit knows one."""
        if self._calibration is None or not _hidden_tokens(heard, _fit(heard, self._calibration)):
            return ()
        return (self._segments.handle(_HIDDEN[hidden_prompt(heard)]),)

    def tokens(self, heard: Heard, handles: Sequence[int], assigned: int) -> list[Tokens]:
        """Of the new segments `handles`; `assigned`: tokens of the known ones before them."""
        interned = [self._segments.interned(handle) for handle in handles]
        if self._calibration is None:
            return [one.tokens for one in interned]
        fit = _fit(heard, self._calibration)
        front = self.front(heard) if assigned == 0 else ()
        hidden = [_hidden_tokens(heard, fit)] * len(front)
        terms = [
            segment_terms(one, self._thoughts.born(handle))
            for one, handle in zip(interned[len(front) :], handles[len(front) :], strict=True)
        ]
        lengths = pinned_lengths([fit.tokens(one) for one in terms], assigned + sum(hidden), heard.counted_tokens)
        return [
            resized(one, length, fit.spread.get(one.role, fit.scale))
            for one, length in zip(interned, hidden + lengths, strict=True)
        ]

    def answered(self, heard: Heard) -> None:
        """Hear a kept request's answer: its thoughts may come back in later prompts."""
        if self._calibration is not None:
            self._thoughts.hear(heard.answer, heard.usage)


def _fit(heard: Heard, calibration: Calibration) -> Fit:
    return calibration.fit(public_model(heard.model), provider_of(heard.exchange.request.api))


def _hidden_tokens(heard: Heard, fit: Fit) -> int:
    return fit.hidden_tokens(prompt_terms(hidden_prompt(heard)))


def hidden_prompt(heard: Heard) -> HiddenPrompt:
    """By the tools that are in the context from the start, and whether one of them has to be called."""
    if not any(part.kind == "tools" and not part.deferred for part in heard.prompt.parts):
        return "plain"
    return "forced" if heard.prompt.forces_tool else "tools"
