"""How many tokens something without text takes: one dated table of formulas for images, documents and ciphertext.

Written 2026-11, from public documentation and published measurements:

| what | rule | known how |
|---|---|---|
| Claude image | ceil(w/28) * ceil(h/28) after fitting long edge and cap | exact on a public table of unresized images |
| its caps | long edge 1568 and 1,600 tokens; from Claude 5 on 2576 and 4,784 | documentation; resizing approximate |
| GPT-4o class image | 85 + 170 per tile of 512 after fitting 2048 and then 768 on the short side | documentation |
| newer GPT image | ceil(w/32) * ceil(h/32) * 1.2, at most 10,000 patches | exact on the same public table |
| image of unknown size | by bytes, in four classes | a guess for screenshots |
| PDF | 2,330 a page (its text and its picture) | published 2,324..2,347; Claude Haiku 4.5 about 2,100 |
| PDF of unknown pages | 50,000 bytes a page | a guess |
| ciphertext | what Codex assumes: (0.75 * length - 650) bytes of text, four a token | Codex's source |

Calibration corrects each of these per model by a factor.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from wire.pictures import image_pixels, pdf_pages

_PAGE_TOKENS: Final = 2_330
_PAGE_BYTES: Final = 50_000
_IMAGE_CLASSES: Final = ((16_384, 256), (65_536, 784), (262_144, 1_600))  # (bytes at most, tokens)
_LARGE_IMAGE_TOKENS: Final = 3_136


@dataclass(frozen=True, slots=True)
class ImageRule:
    """`models`: pattern of model names; the first rule that matches counts."""

    name: str
    models: re.Pattern[str]
    tokens: Callable[[int, int], int]  # of width and height in pixels


def _claude(long_edge: int, cap: int) -> Callable[[int, int], int]:
    def tokens(width: int, height: int) -> int:
        shrink = min(1.0, long_edge / max(width, height))
        patches = _patches(width * shrink, height * shrink, 28)
        return min(patches, cap)

    return tokens


def _tiles(width: int, height: int) -> int:
    shrink = min(1.0, 2048 / max(width, height))
    shrink = min(shrink, 768 / min(width, height))
    return 85 + 170 * _patches(width * shrink, height * shrink, 512)


def _gpt_patches(width: int, height: int) -> int:
    return math.ceil(1.2 * min(_patches(width, height, 32), 10_000))


def _patches(width: float, height: float, side: int) -> int:
    return max(1, math.ceil(round(width) / side)) * max(1, math.ceil(round(height) / side))


IMAGE_RULES: Final = (
    ImageRule(
        "claude before 5", re.compile(r"claude-(?:[1-4]\b|(?:opus|sonnet|haiku|instant)-[1-4]\b)"), _claude(1568, 1_600)
    ),
    ImageRule("claude", re.compile(r"claude"), _claude(2576, 4_784)),
    ImageRule("gpt tiles", re.compile(r"gpt-4|o[134]\b"), _tiles),
    ImageRule("gpt patches", re.compile(r"gpt|codex"), _gpt_patches),
    ImageRule("other", re.compile(r""), _claude(1568, 1_600)),
)


def image_rule(model: str | None) -> ImageRule:
    """The rule for a model by its wire name; names of other makers fall under the last one."""
    return next(rule for rule in IMAGE_RULES if rule.models.search(model or ""))


def image_tokens(rule: ImageRule, payload: str, size: int) -> int:
    """`payload`: base64, "" when only a reference was sent; `size`: bytes."""
    pixels = image_pixels(payload)
    if pixels is not None:
        return rule.tokens(*pixels)
    return next((tokens for at_most, tokens in _IMAGE_CLASSES if size <= at_most), _LARGE_IMAGE_TOKENS)


def document_tokens(payload: str, size: int) -> int:
    """At least one page."""
    return _PAGE_TOKENS * (pdf_pages(payload) or math.ceil(max(size, 1) / _PAGE_BYTES))


def ciphertext_tokens(size: int) -> int:
    """Tokens of `size` characters of base64 ciphertext."""
    return math.ceil(max(0.75 * size - 650, 0) / 4)
