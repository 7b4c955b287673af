from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.blocks import expand_blocks
from corpus.session import Session
from replay.content import Material, Piece, PlayContent, Span
from replay.content_pool import Form, build_pool
from tests.replay.rehearsal import Asked, WordTokenizer, session_of
from tests.replay.vocabularies import NAMES, pool_of, tokenizer_of

SESSION = session_of(
    [
        Asked(0, 1, (1, 2), input_tokens=150),
        Asked(2, 3, (1, 2, 3), input_tokens=192),
        Asked(4, 5, (7,), input_tokens=70),
        Asked(6, 7, (), input_tokens=10),
        Asked(8, 9, (1, 2, 3), input_tokens=130),  # the source rounded the last block up
        Asked(9, 9, (1, 2), input_tokens=400),  # or lists too few
    ]
)
FIRST_BYTES = b' raise ValueError(f\\"'
REQUESTS = range(len(SESSION.requests))


@cache
def material(form: Form = "ids", name: str = "words") -> Material:
    return Material(build_pool(WordTokenizer()) if name == "words" else pool_of(name), form)


def content(
    form: Form = "ids", seed: int = 1, play: int = 0, session: Session = SESSION, name: str = "words"
) -> PlayContent:
    prompts = expand_blocks([request.blocks for request in session.requests])
    return PlayContent(material(form, name), session, prompts, seed, play)


def ids(prompt: bytes) -> list[int]:
    return [int(number) for number in prompt.split(b",")]


@pytest.mark.parametrize("request_", REQUESTS)
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
    reversed_prompts = [backwards.prompt(request) for request in reversed(REQUESTS)]
    forwards = content()
    assert reversed_prompts[::-1] == [forwards.prompt(request) for request in REQUESTS]


def test_other_play_differs_in_the_first_block_and_shares_the_rest() -> None:
    one, other = ids(content(play=0).prompt(1)), ids(content(play=1).prompt(1))
    assert one[:64] != other[:64]
    assert one[64:] == other[64:]
    assert ids(content(play=0).prompt(3)) != ids(content(play=1).prompt(3))


def test_other_seed_or_session_differs_everywhere() -> None:
    one = ids(content().prompt(1))
    for other in (content(seed=2), content(session=session_of([Asked(0, 1, (1, 2, 3))] * 2, number=5))):
        changed = ids(other.prompt(1))
        assert [changed[i : i + 64] == one[i : i + 64] for i in (0, 64, 128)] == [False] * 3


def test_a_long_tail_and_a_large_block_are_drawn_in_several_steps() -> None:
    long = ids(content().prompt(5))
    assert len({tuple(long[at : at + 64]) for at in range(128, 384, 64)}) == 4
    large = content(session=session_of([Asked(0, 1, (1, 2, 3)), Asked(1, 2, (1, 2, 3, 4))], block_size=512))
    first, second = ids(large.prompt(0)), ids(large.prompt(1))
    assert second[:1536] == first
    assert len({tuple(second[at : at + 64]) for at in range(0, 2048, 64)}) == 32
    small = content(session=session_of([Asked(0, 1, (1, 2, 3)), Asked(1, 2, (1, 2, 3, 4))], block_size=16))
    assert ids(small.prompt(1))[:48] == ids(small.prompt(0))


@pytest.mark.parametrize("name", NAMES)
def test_text_is_read_as_the_ids(name: str) -> None:
    encode = tokenizer_of(name).encode
    for request in REQUESTS:
        text = orjson.loads(b'"' + content("text", name=name).prompt(request) + b'"')
        assert encode(text).tolist() == ids(content("ids", name=name).prompt(request))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25)
@given(data=st.data())
def test_every_cut_of_a_prompt_has_the_planned_tokens_on_both_sides(name: str, data: st.DataObject) -> None:
    request = data.draw(st.sampled_from(REQUESTS))
    tokens = SESSION.requests[request].input_tokens
    cuts = sorted(data.draw(st.sets(st.integers(0, tokens), max_size=5)) | {0, tokens})
    spans = [Span(start, stop, data.draw(st.booleans())) for start, stop in pairwise(cuts)]
    texts = [orjson.loads(b'"' + text + b'"') for text in content("text", name=name).texts(request, spans)]
    encode = tokenizer_of(name).encode
    assert [len(encode(text)) for text in texts] == [stop - start for start, stop, _ in spans]
    assert len(encode("".join(texts))) == tokens
    assert not [text for text, span in zip(texts, spans, strict=True) if span.flat and set(text) & set('"\\\n')]


def test_requests_that_share_blocks_share_the_texts_cut_from_them() -> None:
    made = content("text", name="deepseek-v4")
    spans = [Span(0, 20), Span(20, 100), Span(100, 128)]
    assert made.texts(0, spans) == content("text", name="deepseek-v4").texts(1, [*spans, Span(128, 192)])[:3]


def test_missing_names_new_pieces_only_and_tails_are_not_kept() -> None:
    made = content()
    whole: list[Any] = [[Span(0, SESSION.requests[request].input_tokens)] for request in REQUESTS]
    made.prompt(0)
    assert made.missing(made.pieces(1, whole[1])) == [3]
    made.draw([3])
    assert made.missing(made.pieces(1, whole[1])) == []
    made.prompt(1)
    assert (list(made._shared), len(made._own)) == ([2, 3], 1)
    assert [len(made.missing(made.pieces(0, whole[0])))] == [1]  # the tail


def test_plays_of_a_session_draw_what_they_share_once() -> None:
    prompts = expand_blocks([request.blocks for request in SESSION.requests])
    shared: dict[Piece, bytes] = {}
    one, other = (PlayContent(material(), SESSION, prompts, 1, play, shared=shared) for play in (0, 1))
    whole = [Span(0, SESSION.requests[1].input_tokens)]
    assert one.prompt(1) == content(play=0).prompt(1)
    assert len(other.missing(other.pieces(1, whole))) == 1  # what opens the prompt, its own
    assert other.prompt(1) == content(play=1).prompt(1)


def test_content_does_not_change_between_versions() -> None:
    text = content("text", name="deepseek-v4").prompt(0)
    assert text[:21] == FIRST_BYTES


def test_marker_behind_a_prefix_leaves_that_prefix_to_all_plays_and_adds_no_token() -> None:
    prompts = expand_blocks([request.blocks for request in SESSION.requests])
    one, other = (PlayContent(material(), SESSION, prompts, 1, play, {0: 1, 1: 1}) for play in (0, 1))
    for request in (0, 1):
        mine, theirs = ids(one.prompt(request)), ids(other.prompt(request))
        assert len(mine) == SESSION.requests[request].input_tokens
        assert mine[:64] == theirs[:64]
        assert mine[64:128] != theirs[64:128]
    assert ids(one.prompt(0))[:128] == ids(one.prompt(1))[:128]  # within a play all is shared as recorded
    assert ids(one.prompt(1))[128:192] == ids(other.prompt(1))[128:192]
    assert ids(one.prompt(4))[:64] != ids(other.prompt(4))[:64]  # not marked there: at the front as ever
