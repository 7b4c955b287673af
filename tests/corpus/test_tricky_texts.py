from __future__ import annotations

from corpus.tricky_texts import TRICKY_TEXTS


def test_the_set_is_small_enough_for_every_start_and_covers_the_known_traps() -> None:
    joined = "".join(TRICKY_TEXTS)
    assert len(joined) < 20_000
    assert len(set(TRICKY_TEXTS)) == len(TRICKY_TEXTS)
    for trap in ("\r\n", "\t", "\u3000", "\u200d", "e\u0301", "12345", "日本語", "العربية"):
        assert trap in joined


def test_every_text_can_be_encoded_as_utf_8() -> None:
    for text in TRICKY_TEXTS:
        assert text.encode().decode() == text
