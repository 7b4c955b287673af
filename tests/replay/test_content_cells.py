from __future__ import annotations

import numpy as np
import pytest

from replay.content_cells import FRESH, Atoms, Cell, Cutter, lay
from tests.replay.rehearsal import WordTokenizer
from tests.replay.vocabularies import tokenizer_of


def cutter(name: str) -> tuple[Cutter, Atoms]:
    atoms = Atoms()
    return Cutter(tokenizer_of(name), atoms), atoms


def test_fixed_text_becomes_its_tokens_and_a_hole_the_words_that_fit() -> None:
    cut, atoms = cutter("deepseek-v4")
    cells = cut.cut(" return $w\n")
    assert cells is not None
    fixed, hole, end = cells
    assert (atoms.texts[fixed.base], fixed.span) == (" return", 1)
    assert (atoms.texts[end.base], end.span) == ("\n", 1)
    assert hole.span > 1000
    words = atoms.texts[hole.base : hole.base + hole.span]
    assert len(set(words)) == hole.span
    assert all(word[0] == " " and word[1:].islower() for word in words)
    encode = tokenizer_of("deepseek-v4").encode
    assert [encode(word).tolist() for word in words[:50]] == [[atoms.ids[hole.base + n]] for n in range(50)]
    assert all(len(encode(word[1:])) == 1 for word in words)


def test_names_of_a_block_have_their_numbers_and_other_words_none() -> None:
    cut, _ = cutter("deepseek-v4")
    cells = cut.cut(" $a $b $w")
    assert cells is not None
    assert [cell.source for cell in cells] == [0, 1, FRESH]
    assert len({cell.base for cell in cells}) == 1


@pytest.mark.parametrize(("name", "tokens"), [("deepseek-v4", 1), ("qwen-3", 3), ("glm-4.7-flash", 1)])
def test_a_number_is_one_token_or_three_as_the_tokenizer_has_it(name: str, tokens: int) -> None:
    cut, _ = cutter(name)
    cells = cut.cut(" = $n")
    assert cells is not None
    assert [cell.span > 1 for cell in cells[-tokens:]] == [True] * tokens
    assert [cell.span > 1 for cell in cells[:-tokens]] == [False] * (len(cells) - tokens)


def test_a_snippet_that_is_cut_in_unusual_places_is_not_used() -> None:
    assert Cutter(WordTokenizer(), Atoms()).cut(" = $w") is None  # no word does without its space


def test_texts_start_with_a_word_and_end_with_one() -> None:
    texts = [" def", " aa", "(", "b", "c", ")", " ]"]
    strip = lay([Cell(number) for number in range(7)], texts, lambda text: text != "def", 4)
    assert strip.starts.tolist() == [1]
    assert strip.ends.tolist() == [0, 1, 1, 1, 4, 4, 4, 7, 8, 8, 10]
    assert np.array_equal(strip.base, [0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3])
