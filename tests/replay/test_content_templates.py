from __future__ import annotations

import re

import pytest

from replay.content_templates import FLAT_SNIPPETS, SNIPPETS

ALL = (*SNIPPETS, *FLAT_SNIPPETS)


@pytest.mark.parametrize("snippet", ALL)
def test_a_hole_is_never_followed_by_a_letter_or_digit(snippet: str) -> None:
    assert re.search(r"\$[a-hnw]", snippet)
    assert not re.search(r"\$[a-hnw][A-Za-z0-9]", snippet)


@pytest.mark.parametrize("snippet", ALL)
def test_a_hole_never_follows_an_apostrophe_a_letter_or_a_digit(snippet: str) -> None:
    assert not re.search(r"['A-Za-z0-9]\$[a-hnw]", snippet)


def test_code_ends_with_its_line_and_flat_text_has_nothing_that_json_escapes() -> None:
    assert all(snippet.isascii() and snippet.endswith("\n") and "\t" not in snippet for snippet in SNIPPETS)
    assert all(snippet.isascii() and snippet.startswith(" ") for snippet in FLAT_SNIPPETS)
    assert not [snippet for snippet in FLAT_SNIPPETS if set(snippet) & set('"\\\n')]
