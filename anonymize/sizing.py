"""Decides how long each new segment of a prompt is: as the local tokenizer counts, or as a calibration says.

Asked only for segments that no earlier prompt had at this place, in order, so a decision is made once and stays with
the place (`anonymize.digests`): a later turn or a fork that begins alike finds the same tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from anonymize.calibration import Calibration, Fit, pinned_lengths
from anonymize.features import segment_terms
from anonymize.hearing import Heard
from anonymize.segments import Segment
from anonymize.thoughts import Thoughts
from anonymize.tokens import SegmentTokens, Tokens, resized
from anonymize.words import public_model

# Stand for the provider's own prompt, without and with tools.
_HIDDEN: Final = tuple(Segment("system", "", f"{number:032x}") for number in (1, 2))


class Sizing:
    """Sizes of one session's segments. Without a calibration nothing that a provider counted changes a size."""

    def __init__(self, segments: SegmentTokens, calibration: Calibration | None) -> None:
        self._segments = segments
        self._calibration = calibration
        self._thoughts = Thoughts(segments)

    def front(self, heard: Heard) -> tuple[int, ...]:
        """Numbers of the segments that stand before the prompt's own: the hidden prompt, if the fit knows one."""
        if self._calibration is None or not self._hidden_tokens(heard, self._calibration):
            return ()
        return (self._segments.handle(_HIDDEN[_has_tools(heard)]),)

    def tokens(self, heard: Heard, handles: Sequence[int], assigned: int) -> list[Tokens]:
        """Of the new segments `handles`; `assigned`: tokens of the known ones before them."""
        interned = [self._segments.interned(handle) for handle in handles]
        if self._calibration is None:
            return [one.tokens for one in interned]
        fit = self._fit(heard, self._calibration)
        front = self.front(heard) if assigned == 0 else ()
        hidden = [fit.hidden_tokens(has_tools=_has_tools(heard))] * len(front)
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

    def _fit(self, heard: Heard, calibration: Calibration) -> Fit:
        return calibration.fit(public_model(heard.model), heard.exchange.request.api)

    def _hidden_tokens(self, heard: Heard, calibration: Calibration) -> int:
        return self._fit(heard, calibration).hidden_tokens(has_tools=_has_tools(heard))


def _has_tools(heard: Heard) -> bool:
    return any(part.kind == "tools" and not part.deferred for part in heard.prompt.parts)
