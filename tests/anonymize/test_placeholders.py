from __future__ import annotations

import struct
from base64 import b64encode

import pytest

from anonymize.placeholders import ciphertext_tokens, document_tokens, image_rule, image_tokens


def png(width: int, height: int) -> str:
    return b64encode(b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)).decode()


@pytest.mark.parametrize(
    ("model", "width", "height", "tokens"),
    [
        ("claude-opus-5-5", 280, 56, 20),
        ("claude-opus-5-5", 281, 57, 33),
        ("claude-haiku-5-5", 4000, 4000, 4_784),
        ("claude-haiku-4-5", 1560, 1568, 1_600),
        ("claude-3-opus", 400, 400, 225),
        ("gpt-4o", 2048, 4096, 85 + 170 * 6),
        ("gpt-4o", 512, 512, 85 + 170),
        ("gpt-6.2-sol", 320, 64, 24),
        ("gpt-6.2-sol", 32_000, 32_000, 12_000),
        ("some-model", 280, 280, 100),
    ],
)
def test_an_image_counts_by_the_formula_of_its_models_provider(
    model: str, width: int, height: int, tokens: int
) -> None:
    assert image_tokens(image_rule(model), png(width, height), 1) == tokens


def test_an_image_of_unknown_size_counts_by_its_bytes() -> None:
    rule = image_rule(None)
    assert [image_tokens(rule, "", size) for size in (0, 40_000, 200_000, 2_000_000)] == [256, 784, 1_600, 3_136]


def test_a_document_counts_by_pages_and_else_by_bytes() -> None:
    three = b64encode(b"%PDF-1.4 << /Type /Pages /Count 3 >>").decode()
    assert [document_tokens(three, 9_999_999), document_tokens("", 0), document_tokens("", 50_001)] == [
        6_990,
        2_330,
        4_660,
    ]


def test_ciphertext_counts_as_codex_assumes() -> None:
    assert [ciphertext_tokens(size) for size in (0, 866, 2_000, 10_000)] == [0, 0, 213, 1_713]
