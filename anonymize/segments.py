"""Turns a prompt into ordered segments: the text to count, or a stand-in for what has no text.

The order is the provider's (tools, system, messages; Codex sends its tools as the first input item, which `wire.prompt`
keeps in place), because that is the order in which a prefix cache sees a prompt. Three rules keep a conversation's
history equal from one request to the next:

* Claude Code's billing line is left out: it may change in every request and says nothing to the model.
* A tool with `defer_loading` is not in the context until a tool search answers with a reference to it; the provider
  then unfolds the definition at that place. So its definition becomes a segment right after the first tool result
  that names it, and one that nothing names takes no tokens. Put among the other tools, one tool search would change
  the whole prefix. (Anthropic's tool reference, section on deferred loading and prompt caching.)
* Images, documents and encrypted content become placeholders: a number of tokens by rule (`anonymize.placeholders`),
  the identity by digest. Claude's signature behind visible thinking is left out, since it seals what the text says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from anonymize.placeholders import ImageRule, ciphertext_tokens, document_tokens, image_rule, image_tokens
from corpus.session import Role
from wire.shapes import Part, Prompt

MIN_PLACEHOLDER_TOKENS: Final = 4  # a whole 128-bit digest fits in, so different data never looks equal
_REFERENCE: Final = re.compile(r'"type":"tool_reference","tool_name":"([^"\\]+)"')


@dataclass(frozen=True, slots=True)
class Segment:
    """One piece of a prompt; either `text`, or a placeholder for `size` bytes identified by `digest`."""

    role: Role
    text: str
    digest: str = ""
    size: int = 0
    rule: ImageRule | None = None  # images: how the model's provider counts them
    payload: str = field(default="", repr=False, compare=False)

    @property
    def placeholder_tokens(self) -> int:
        """By rule; 0 for text. Looks into the payload, so ask once per content."""
        if not self.digest:
            return 0
        if self.rule is not None:
            tokens = image_tokens(self.rule, self.payload, self.size)
        elif self.role == "document":
            tokens = document_tokens(self.payload, self.size)
        else:
            tokens = ciphertext_tokens(self.size)
        return max(tokens, MIN_PLACEHOLDER_TOKENS)


def placed_parts(prompt: Prompt) -> Iterator[tuple[Segment, Part]]:
    """Each segment with the part it came from, in the order a prefix cache sees them."""
    rule = image_rule(prompt.model)
    waiting = {part.name: part for part in prompt.parts if part.deferred and part.name}
    before: Part | None = None
    for part in prompt.parts:
        if part.kind != "billing" and not part.deferred and not repeats_thinking(part, before):
            yield segment_of(part, rule), part
            for loaded in _loaded_by(part, waiting):
                yield segment_of(loaded, rule), loaded
        before = part


def segment_of(part: Part, rule: ImageRule) -> Segment:
    """One part on its own: its text, or a placeholder sized by its bytes when it has a digest instead."""
    assert part.kind != "billing"
    if not part.digest:
        return Segment(part.kind, part.text)
    counted = rule if part.kind == "image" else None
    return Segment(part.kind, "", part.digest, part.opaque_bytes, counted, part.payload)


def repeats_thinking(part: Part, before: Part | None) -> bool:
    """Whether this is the signature of the visible thinking right before it."""
    signature = part.kind == "opaque" and part.name == "thinking"
    return signature and before is not None and before.kind == "thinking" and before.message == part.message


def _loaded_by(part: Part, waiting: dict[str, Part]) -> list[Part]:
    """Takes out of `waiting` the deferred tools that this part makes visible for the first time."""
    if part.kind != "tool_result" or not waiting:
        return []
    return [waiting.pop(name) for name in _REFERENCE.findall(part.text) if name in waiting]
