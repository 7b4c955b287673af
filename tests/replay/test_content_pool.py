from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from corpus.errors import InputError
from replay.content_pool import MOST_TOKENS, Pool, build_pool, is_exact
from tests.replay.rehearsal import WordTokenizer
from tests.replay.vocabularies import NAMES, pool_of, tokenizer_of

FIRST_TOKENS = " HashMap<>();\n\n    @Override\n    public expected demon(String given"
DRAWS = st.lists(st.tuples(st.integers(0, 1 << 40), st.integers(1, MOST_TOKENS), st.booleans()), min_size=1, max_size=9)


def text_of(pool: Pool, atoms: list[int]) -> str:
    return "".join(pool.texts[atom] for atom in atoms)


def drawn(pool: Pool, key: int, count: int, *, flat: bool = False) -> list[int]:
    row: list[int] = pool.draw([str(key)], count, flat=flat)[0].tolist()
    return row


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25)
@given(draws=DRAWS)
def test_pieces_joined_in_any_order_are_read_as_the_tokens_that_were_drawn(
    name: str, draws: list[tuple[int, int, bool]]
) -> None:
    pool = pool_of(name)
    assert pool.words == ""
    atoms = [atom for key, count, flat in draws for atom in drawn(pool, key, count, flat=flat)]
    ids = [pool.ids[atom] for atom in atoms]
    encode = tokenizer_of(name).encode
    assert encode(text_of(pool, atoms)).tolist() == ids
    assert len(encode(f"\n{text_of(pool, atoms)}\n")) == len(ids) + 2  # as templates put it between line breaks
    assert len(encode(text_of(pool, atoms).strip())) == len(ids)  # or trim it


@pytest.mark.parametrize("name", ["deepseek-v4", "o200k"])
def test_two_million_tokens_share_no_window_of_64(name: str) -> None:
    """Windows that lie across two blocks count as well."""
    pool = pool_of(name)
    rows = np.concatenate([pool.draw([f"{n}" for n in range(at, at + 4096)], 64) for at in range(0, 32_768, 4096)])
    ids = np.array(pool.ids, dtype=np.uint64)[rows.ravel()]
    assert len(ids) >= 2_000_000
    powers = np.cumprod(np.full(64, 0x9E3779B97F4A7C15, dtype=np.uint64))
    windows = np.zeros(len(ids) - 63, dtype=np.uint64)
    for offset, power in enumerate(powers):
        windows += ids[offset : len(ids) - 63 + offset] * power
    assert len(np.unique(windows)) == len(windows)


def test_text_is_code_of_many_kinds_with_names_that_come_again() -> None:
    pool = pool_of("deepseek-v4")
    texts = [text_of(pool, row) for row in pool.draw([str(n) for n in range(2000)], 64).tolist()]
    whole = "\n".join(texts)
    for mark in ("def ", "func ", "fn ", "=> ", "SELECT", "diff --git", "Traceback", "INFO", '": {"', "#include"):
        assert mark in whole
    repeated = [len(re.findall(r"[a-z]{4,}", text)) - len(set(re.findall(r"[a-z]{4,}", text))) for text in texts]
    assert sum(repeated) / len(repeated) > 1


def test_flat_text_needs_no_json_escape() -> None:
    pool = pool_of("deepseek-v4")
    text = text_of(pool, pool.draw([str(n) for n in range(500)], 64, flat=True).ravel().tolist())
    assert not set(text) & set('"\\\n')


def test_a_draw_depends_on_its_key_alone_and_never_changes_between_versions() -> None:
    pool = pool_of("deepseek-v4")
    together = pool.draw(["a", "b", "c"], 64)
    assert np.array_equal(together[1:2], pool.draw(["b"], 64))
    assert text_of(pool, pool.draw(["a"], 12)[0].tolist()) == FIRST_TOKENS


@pytest.mark.parametrize("count", [1, 2, 63, 64])
def test_a_draw_has_as_many_tokens_as_were_asked(count: int) -> None:
    assert pool_of("deepseek-v4").draw(["a", "b"], count).shape == (2, count)


def test_pieces_of_ids_and_text_are_those_of_the_same_atoms() -> None:
    pool = pool_of("deepseek-v4")
    (texts, between), (ids, comma) = pool.pieces("text"), pool.pieces("ids")
    assert (between, comma) == (b"", b",")
    assert [int(number) for number in ids] == list(pool.ids)
    assert texts[pool.texts.index("\n")] == b"\\n"


def test_tokenizer_that_cuts_code_differently_gets_plain_words_and_the_reason() -> None:
    pool = build_pool(WordTokenizer())
    assert "snippets of code in unusual places" in pool.words
    assert set(pool.texts) == set(WordTokenizer().entries[10:])
    assert is_exact(pool, WordTokenizer())


def test_vocabulary_with_too_few_words_is_an_input_error() -> None:
    with pytest.raises(InputError, match="too few words"):
        build_pool(WordTokenizer(words=100))


def test_vocabulary_whose_words_merge_only_when_joined_is_an_input_error() -> None:
    class Merging(WordTokenizer):
        def encode(self, text: str) -> NDArray[np.uint32]:
            found = super().encode(text)
            return found if len(found) == 1 else found[1:]

    with pytest.raises(InputError, match="words"):
        build_pool(Merging())


def test_code_that_is_cut_differently_only_where_pieces_meet_is_not_used() -> None:
    class Meeting(WordTokenizer):
        """Reads like DeepSeek until a text is long."""

        real = tokenizer_of("deepseek-v4")

        def encode(self, text: str) -> NDArray[np.uint32]:
            return self.real.encode(text if text.count(" ") < 9_000 else text[1:])

        def lowercase_words(self) -> list[str]:
            return list(self.real.lowercase_words())

        def token_text(self, token: int) -> str:
            return self.real.token_text(token)

    with pytest.raises(InputError, match="joined pieces of code"):
        build_pool(Meeting())
