from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from anonymize.audit.live import MakeChains, WatchedChains, audit_live, guesses, key_shows
from anonymize.digests import KEY_BYTES, BlockChains, Place
from anonymize.session import anonymize_session
from anonymize.tokens import Tokens
from corpus.exchange import Exchange
from corpus.session import Role, Session
from corpus.tokenizer import Tokenizer
from tests.anonymize.exchanges import (
    KEY,
    WordTokenizer,
    assistant,
    claude_answer,
    claude_body,
    claude_capture,
    exchange,
    session_of,
    user,
)

ALL_PASS = {"T2": True, "T3": True, "T4": True, "T9": True}


class Again:
    """The session once more; `keyed` plants what a digest that got out would do, `numbered` what a token would."""

    def __init__(self, exchanges: Sequence[Exchange], *, keyed: bool = False, numbered: bool = False) -> None:
        self.exchanges, self.keyed, self.numbered = exchanges, keyed, numbered

    def __call__(self, *, tokenizer: Tokenizer, key: bytes, chains: MakeChains) -> Session | None:
        made = anonymize_session(
            self.exchanges,
            number=0,
            tokenizer=tokenizer,
            block_size=64,
            max_input_tokens=10**6,
            keep_aux=False,
            key=key,
            chains=chains,
        ).session
        assert made is not None
        leak = int.from_bytes(key[:4]) if self.keyed else 0
        leak += int(tokenizer.encode("the")[0]) if self.numbered else 0
        return replace(made, requests=(replace(made.requests[0], position=leak), *made.requests[1:]))


@pytest.fixture
def talk() -> list[Exchange]:
    """Two turns of which the second edits what the first said late, and one of another model."""
    words = " ".join(f"word{n}" for n in range(300))
    answer = claude_answer({"type": "text", "text": "done"})
    return [
        exchange(1, claude_body([user(words, words + " one")]), answer),
        exchange(3, claude_body([user(words, words + " two"), assistant("done"), user("on")]), answer),
        exchange(5, claude_body([user(words)], model="claude-haiku-4-5"), answer),
    ]


def words() -> WordTokenizer:
    return WordTokenizer()


def test_a_session_passes(talk: list[Exchange]) -> None:
    assert audit_live(session_of(talk), Again(talk), words()) == ALL_PASS


@pytest.mark.parametrize("scenario", ["base_tool_loop", "base_subagent_nested"])
def test_recorded_sessions_pass(scenario: str) -> None:
    folder = Path(__file__).resolve().parents[3].parent / "shared" / "captures" / "claude-code"
    if not (folder / f"{scenario}.jsonl").is_file():
        pytest.skip(f"no recorded scenario {scenario}")
    exchanges = claude_capture(scenario)
    assert audit_live(session_of(exchanges), Again(exchanges), words()) == ALL_PASS


def test_a_planted_key_in_the_session_fails_t2(talk: list[Exchange]) -> None:
    found = audit_live(session_of(talk), Again(talk, keyed=True), words())
    assert (found["T2"], found["T3"]) == (False, False)


def test_a_planted_token_in_the_session_fails_t3_alone(talk: list[Exchange]) -> None:
    tokenizer = words()
    made = Again(talk, numbered=True)(tokenizer=tokenizer, key=KEY, chains=BlockChains)
    assert made is not None
    assert audit_live(made, Again(talk, numbered=True), tokenizer) == ALL_PASS | {"T3": False}


def test_a_session_that_cannot_be_made_again_fails(talk: list[Exchange]) -> None:
    found = audit_live(session_of(talk), lambda **_: None, words())
    assert (found["T2"], found["T3"]) == (False, False)


class Careless(WatchedChains):
    """Numbers that forget what stood before, stand for every second block only, or are digests."""

    flaw = ""

    def grow(self, place: Place, handle: int, role: Role, tokens: Tokens) -> Place:
        if self.flaw == "unchained":
            place = Place(place.cut, place.total, b"always the same", place.tail, [])
        return super().grow(place, handle, role, tokens)

    def _digest(self, data: bytes) -> bytes:
        if self.flaw == "colliding":
            return data[:1]
        if self.flaw == "unkeyed":
            return hashlib.blake2b(data, digest_size=16).digest()
        return super()._digest(data)


def feed(chains: BlockChains, prompts: Sequence[Sequence[Sequence[int]]], first_handle: int = 0) -> None:
    """Prompts as segments of token ids; equal segments have equal handles."""
    handles: dict[tuple[int, ...], int] = {}
    for prompt in prompts:
        segments = [tuple(segment) for segment in prompt]
        numbers = [handles.setdefault(segment, first_handle + len(handles)) for segment in segments]
        places = chains.known("m", numbers)
        for handle, segment in list(zip(numbers, segments, strict=True))[len(places) - 1 :]:
            places.append(chains.grow(places[-1], handle, "user", np.array(segment, dtype=np.uint32)))


PROMPTS = [[range(100), range(100, 300)], [range(100), range(500, 700)], [range(64), range(64, 100), range(100, 300)]]


def chains(flaw: str = "") -> Careless:
    made = Careless(secrets.token_bytes(KEY_BYTES), "0" * 64, 64)
    made.flaw = flaw
    feed(made, PROMPTS)
    return made


def test_numbers_that_stand_for_prefixes_are_lawful() -> None:
    assert chains().is_lawful


@pytest.mark.parametrize("flaw", ["unchained", "colliding"])
def test_planted_numbers_that_stand_for_something_else_fail_t4(flaw: str) -> None:
    assert not chains(flaw).is_lawful


def test_two_numbers_for_one_prefix_fail_t4() -> None:
    made = chains()
    made._numbers.clear()
    made._numbers[b"something else"] = 1
    feed(made, [[range(63), range(63, 300)]], first_handle=100)
    assert not made.is_lawful


def test_no_guess_is_among_the_numbers_and_the_key_would_find_them_all() -> None:
    assert chains().withstands()


def test_planted_digests_among_the_numbers_fail_t9() -> None:
    made = chains("unkeyed")
    digests = list(made._numbers)
    for digest in digests:
        made._numbers[digest] = int.from_bytes(digest[:8], "little")
    assert not made.withstands()


def test_an_attack_that_could_not_see_fails_t9() -> None:
    made = chains()
    made._numbers.clear()  # as if the numbers came from other digests than those that the attack makes
    assert not made.withstands()


def test_the_dictionary_finds_what_was_hashed_without_a_key() -> None:
    blocks = [bytes([n]) * 256 for n in range(3)]
    sha = b""
    for block in blocks:
        sha = hashlib.sha256(sha + block).digest()
    assert int.from_bytes(sha[:8], "big") in set(guesses("root", blocks))


def test_a_session_without_a_whole_block_has_nothing_to_guess() -> None:
    made = WatchedChains(KEY, "0" * 64, 64)
    feed(made, [[range(9)]])
    assert made.withstands()


def test_a_planted_key_is_seen_in_what_was_written() -> None:
    key = secrets.token_bytes(KEY_BYTES)
    assert not key_shows(key, (b"nothing", secrets.token_bytes(10_000)))
    for written in (key, key.hex().encode(), b"x" + key[::-1]):
        assert key_shows(key, (b"nothing", b"before" + written + b"after"))
