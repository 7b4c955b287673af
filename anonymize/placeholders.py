"""How many tokens something without text takes: one dated table of formulas for images, documents and ciphertext.

| what | rule | source, as of 2026-11 |
|---|---|---|
| Claude image | ceil(w/28) * ceil(h/28) after fitting edge and cap | dataset JOHNISKING/image-token-cost: exact (1) |
| its caps | edge 1568, 1,600 tokens; from Claude 5 on 2576 and 4,784 | Anthropic's vision page |
| GPT-4o class image | 85 + 170 per tile of 512, fitted to 2048, then 768 | OpenAI's vision guide |
| newer GPT image | ceil(w/32) * ceil(h/32) * 1.2 | dataset JOHNISKING/image-token-cost: exact (1) |
| its cap | 10,000 patches | Codex's source |
| image of unknown size | by bytes, in four classes | a guess for screenshots |
| PDF | 2,330 a page (its text and its picture) | dataset JOHNISKING/pdf-token-cost: 2,324..2,347 (2) |
| PDF of unknown pages | 50,000 bytes a page | a guess |
| ciphertext | (0.75 * length - 650) bytes, four a token | what Codex's source assumes |

(1) where nothing is resized; how providers resize is approximate here. (2) Claude Haiku 4.5: about 2,100.

Sizes come from the files themselves (`wire.pictures`): headers of PNG, JPEG, GIF and WebP, page counts of PDFs, packed
or not. By bytes go only references by URL or file id, other formats, broken and encrypted files. Calibration corrects
each of these per model by a factor.
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
