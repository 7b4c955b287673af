"""Turns a prompt into ordered segments: the text to count, or a stand-in for what has no text.

The order is the provider's (tools, system, messages; Codex sends its tools as the first input item, which `wire.prompt`
keeps in place), because that is the order in which a prefix cache sees a prompt. Three rules keep a conversation's
history equal from one request to the next:

* Claude Code's billing line is left out: it may change in every request and says nothing to the model.
* A tool with `defer_loading` is not in the context until a tool search answers with a reference to it; the provider
  then unfolds the definition at that place. So its definition becomes a segment right after the first tool result
  that names it, and one that nothing names takes no tokens. Put among the other tools, one tool search would change
  the whole prefix. (Anthropic's tool reference, section on deferred loading and prompt caching.)
* Images, documents and encrypted content become placeholders: a number of tokens by rule, the identity by digest.
  Claude's signature behind visible thinking is left out, since it seals what the text already says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from corpus.session import Role
from wire.shapes import Part, Prompt

_BYTES_PER_TOKEN: Final = 4
_PDF_PAGE_BYTES: Final = 50_000
_PDF_PAGE_TOKENS: Final = 2_330
_REFERENCE: Final = re.compile(r'"type":"tool_reference","tool_name":"([^"\\]+)"')


@dataclass(frozen=True, slots=True)
class Segment:
    """One piece of a prompt; either `text`, or a placeholder of `placeholder_tokens` identified by `digest`."""

    role: Role
    text: str
    digest: str = ""
    placeholder_tokens: int = 0


def _image_tokens(size: int) -> int:
    """Tokens of an image of `size` bytes, in four classes; the dimensions would need a decoder."""
    for at_most_bytes, tokens in ((16_384, 256), (65_536, 784), (262_144, 1_600)):
        if size <= at_most_bytes:
            return tokens
    return 3_136


def _document_tokens(size: int) -> int:
    """Tokens of a document of `size` bytes, taken as full pages."""
    return math.ceil(max(size, 1) / _PDF_PAGE_BYTES) * _PDF_PAGE_TOKENS


def _opaque_tokens(size: int) -> int:
    """Tokens of `size` characters of base64 ciphertext."""
    return math.ceil(max(0.75 * size - 650, 0) / _BYTES_PER_TOKEN)


# Written 2026-11. Sources: image classes are ceil(w/28)*ceil(h/28) of a square of 448, 784, 1120 and 1568 pixels, the
# rule measured on public tables of Claude image costs, with the byte limits a guess for screenshots; a PDF page is the
# published 2,324..2,347 tokens per text page, the bytes per page a guess; ciphertext is what Codex itself assumes
# for the visible bytes of `encrypted_content`, at its four bytes a token. Calibration corrects all of them per model.
PLACEHOLDER_TOKENS: Final[dict[Role, Callable[[int], int]]] = {
    "image": _image_tokens,
    "document": _document_tokens,
}
MIN_PLACEHOLDER_TOKENS: Final = 4  # a whole 128-bit digest fits in, so different data never looks equal


def segments_of(prompt: Prompt) -> tuple[Segment, ...]:
    """The prompt's segments in the order a prefix cache sees them."""
    return tuple(segment for segment, _ in placed_parts(prompt))


def placed_parts(prompt: Prompt) -> Iterator[tuple[Segment, Part]]:
    """Each segment with the part it came from, in prompt order."""
    waiting = {part.name: part for part in prompt.parts if part.deferred and part.name}
    before: Part | None = None
    for part in prompt.parts:
        if part.kind != "billing" and not part.deferred and not _repeats(part, before):
            yield segment_of(part), part
            for loaded in _loaded_by(part, waiting):
                yield segment_of(loaded), loaded
        before = part


def segment_of(part: Part) -> Segment:
    """One part on its own: its text, or a placeholder sized by its bytes when it has a digest instead."""
    assert part.kind != "billing"
    if not part.digest:
        return Segment(part.kind, part.text)
    rule = PLACEHOLDER_TOKENS.get(part.kind, _opaque_tokens)
    return Segment(part.kind, "", part.digest, max(rule(part.opaque_bytes), MIN_PLACEHOLDER_TOKENS))


def _repeats(part: Part, before: Part | None) -> bool:
    """Whether this is the signature of the visible thinking right before it."""
    signature = part.kind == "opaque" and part.name == "thinking"
    return signature and before is not None and before.kind == "thinking" and before.message == part.message


def _loaded_by(part: Part, waiting: dict[str, Part]) -> list[Part]:
    """Takes out of `waiting` the deferred tools that this part makes visible for the first time."""
    if part.kind != "tool_result" or not waiting:
        return []
    return [waiting.pop(name) for name in _REFERENCE.findall(part.text) if name in waiting]
