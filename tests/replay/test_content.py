from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.blocks import expand_blocks
from corpus.errors import InputError
from corpus.session import Session
from corpus.tokenizer import load_tokenizer
from replay.content import Alphabet, Form, PlayContent, WordPool, alphabet_of, build_pool
from tests.replay.rehearsal import Asked, WordTokenizer, session_of


@cache
def pool() -> WordPool:
    return build_pool(WordTokenizer())


SESSION = session_of(
    [
        Asked(0, 1, (1, 2), input_tokens=150),
        Asked(2, 3, (1, 2, 3), input_tokens=192),
        Asked(4, 5, (7,), input_tokens=70),
        Asked(6, 7, (), input_tokens=10),
        Asked(8, 9, (1, 2, 3), input_tokens=130),  # the source rounded the last block up
    ]
)


def content(
    form: Form = "ids", seed: int = 1, play: int = 0, session: Session = SESSION, alphabet: Alphabet | None = None
) -> PlayContent:
    prompts = expand_blocks([request.blocks for request in session.requests])
    return PlayContent(alphabet or alphabet_of(pool(), form), session, prompts, seed, play)


def ids(prompt: bytes) -> list[int]:
    return [int(number) for number in prompt.split(b",")]


def test_pool_holds_lowercase_words_by_ascending_id() -> None:
    assert list(pool().ids) == list(range(10, 610))
    assert pool().words[:2] == (" aa", " ab")


def test_vocabulary_with_too_few_words_is_an_input_error() -> None:
    with pytest.raises(InputError, match="too few words"):
        build_pool(WordTokenizer(words=100))


def test_word_that_does_not_survive_being_joined_is_left_out() -> None:
    class Merging(WordTokenizer):
        def encode(self, text: str) -> np.typing.NDArray[np.uint32]:
            return super().encode(text.replace(" ab", " ac"))

    assert " ab" not in build_pool(Merging()).words


def test_vocabulary_whose_words_merge_only_when_joined_is_an_input_error() -> None:
    class Merging(WordTokenizer):
        def encode(self, text: str) -> np.typing.NDArray[np.uint32]:
            found = super().encode(text)
            return found if len(found) == 1 else found[1:]

    with pytest.raises(InputError, match="words"):
        build_pool(Merging())


@pytest.mark.parametrize("request_", range(len(SESSION.requests)))
def test_prompt_has_exactly_the_planned_tokens(request_: int) -> None:
    assert len(ids(content().prompt(request_))) == SESSION.requests[request_].input_tokens


def test_equal_blocks_give_equal_tokens_and_tails_differ() -> None:
    made = content()
    first, second = ids(made.prompt(0)), ids(made.prompt(1))
    assert first[:128] == second[:128]
    assert first[128:] != second[128:150]
    rounded_up = ids(made.prompt(4))
    assert rounded_up[:128] == first[:128]
    assert rounded_up[128:] != second[128:130]


def test_prompts_are_the_same_whatever_was_built_before() -> None:
    backwards = content()
    reversed_prompts = [backwards.prompt(request) for request in reversed(range(5))]
    forwards = content()
    assert reversed_prompts[::-1] == [forwards.prompt(request) for request in range(5)]


def test_other_play_differs_in_the_first_block_and_shares_the_rest() -> None:
    one, other = ids(content(play=0).prompt(1)), ids(content(play=1).prompt(1))
    assert not any(a == b for a, b in zip(one[:8], other[:8], strict=True)) or one[:64] != other[:64]
    assert one[64:] == other[64:]
    assert ids(content(play=0).prompt(3)) != ids(content(play=1).prompt(3))


def test_other_seed_or_session_differs_everywhere() -> None:
    one = ids(content().prompt(1))
    for other in (content(seed=2), content(session=session_of([Asked(0, 1, (1, 2, 3))] * 2, number=5))):
        changed = ids(other.prompt(1))
        assert [changed[i : i + 64] == one[i : i + 64] for i in (0, 64, 128)] == [False] * 3


def test_content_does_not_change_between_versions() -> None:
    assert ids(content().prompt(0))[:4] == [502, 469, 273, 345]
    assert content("text").prompt(0)[:12] == b"".join(pool().words[i - 10].encode() for i in (502, 469, 273, 345))


def test_text_encodes_back_to_the_ids() -> None:
    words = WordTokenizer()
    for request in range(5):
        text = content("text").prompt(request).decode()
        assert words.encode(text).tolist() == ids(content("ids").prompt(request))


@given(request=st.integers(0, 4), cuts=st.lists(st.integers(0, 192), max_size=4))
def test_parts_join_to_the_whole(request: int, cuts: list[int]) -> None:
    made = content("text")
    tokens = SESSION.requests[request].input_tokens
    bounds = [0, *sorted(min(cut, tokens) for cut in cuts), tokens]
    parts = [made.part(request, start, stop) for start, stop in pairwise(bounds)]
    assert b"".join(parts) == made.prompt(request)


def test_missing_names_new_blocks_only() -> None:
    made = content()
    assert made.missing(0) == [2]
    made.prompt(0)
    assert made.missing(1) == [3]
    made.encode([3])
    assert made.missing(1) == []


def test_default_tokenizer_reads_text_as_the_same_tokens() -> None:
    tokenizer = load_tokenizer()
    words = build_pool(tokenizer)
    assert len(words.ids) > 20_000
    text = content("text", alphabet=alphabet_of(words, "text")).prompt(1).decode()
    as_ids = ids(content("ids", alphabet=alphabet_of(words, "ids")).prompt(1))
    assert tokenizer.encode(text).tolist() == as_ids
