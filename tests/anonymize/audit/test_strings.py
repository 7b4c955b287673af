from __future__ import annotations

import gzip
from dataclasses import replace
from typing import Any

import pytest

from anonymize.audit.strings import captured_windows, find_shapes, find_unlisted, unlisted_windows
from anonymize.public import public_session
from corpus.card import Card
from corpus.exchange import Exchange
from corpus.session import Session
from tests.anonymize.exchanges import claude_answer, claude_body, exchange, session_of, user

CARD = Card("agentreel 0.1.0", "deepseek-v4", "ab" * 32, 64, fingerprint="cd" * 16)


@pytest.fixture
def heard() -> Exchange:
    return exchange(
        1, claude_body([user("the quick brown fox")]), claude_answer({"type": "text", "text": "jumped over"})
    )


@pytest.fixture
def session(heard: Exchange) -> Session:
    return session_of([heard])


def test_a_built_session_passes(session: Session) -> None:
    assert find_unlisted(session, public=False) is None
    assert list(find_shapes(session)) == []
    assert find_unlisted(public_session(session), public=True) is None


def test_a_planted_string_is_caught_and_not_repeated(session: Session) -> None:
    flaw = find_unlisted(replace(session, harness="jane"), public=False)
    assert flaw is not None
    assert "Session.harness" in flaw
    assert "jane" not in flaw


def test_planted_exact_values_in_a_public_corpus_are_caught(session: Session) -> None:
    assert find_unlisted(session, public=True) is not None


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("0123456789abcdef", "hexadecimal"),
        ("aGVsbG8gd29ybGQgMTIzND", "base64"),
        ("123e4567-e89b-12d3-a456-426614174000", "UUID"),
        ("jane@acme.example", "e-mail"),
        ("10.1.2.3", "IP"),
        ("fe80:12:ab", "IP"),
        ("/home/jane", "path"),
        ("C:\\jane", "path"),
        ("https:", None),
        ("http://acme", "URL"),
        ("2026-11-29T12", "date"),
        ("claude-haiku-4-5-20251001", None),
        ("qwen3-coder-480b-a35b-instruct", None),
    ],
)
def test_planted_shapes_are_caught_in_any_field(session: Session, text: str, shape: str | None) -> None:
    for record in (replace(session, models=(text,)), replace(session, source=text)):
        found = list(find_shapes(record))
        assert bool(found) == (shape is not None)
        assert shape is None or any(shape in one for one in found)


def test_the_cards_checksums_are_no_finding_and_a_planted_path_is() -> None:
    assert list(find_shapes(CARD)) == []
    assert list(find_shapes(replace(CARD, tokenizer="/home/jane/tok"))) == ["Card.tokenizer holds a path"]


def test_windows_leave_out_what_holds_few_letters() -> None:
    assert unlisted_windows(["0123456789012345", "2026-11-29 at"]) == frozenset()
    assert unlisted_windows(["brown fox jumps"]) == {b"brown fox ju", b"rown fox jum", b"own fox jump", b"wn fox jumps"}


@pytest.mark.parametrize("planted", ["quick brown f", "jumped over", "claude-opus-5-5"])
def test_a_planted_stretch_of_captured_text_is_found(heard: Exchange, planted: str) -> None:
    assert captured_windows(unlisted_windows([planted]), [heard]) > 0


def test_text_that_was_never_captured_is_not_found(heard: Exchange) -> None:
    assert captured_windows(unlisted_windows(["lazy dog slept on"]), [heard]) == 0


def test_compressed_bodies_headers_and_ids_are_searched_too(heard: Exchange) -> None:
    packed = gzip.compress(b"sealed wisdom of owls")
    headers: Any = (("content-encoding", "gzip"), ("x-note", "headline of jane"))
    request = replace(heard.request, body=packed, headers=headers, contributor="contributor jane")
    hidden = Exchange(request, None)
    for text in ("sealed wisdom", "headline of ja", "contributor jane", "claude-code"):
        assert captured_windows(unlisted_windows([text]), [hidden]) > 0
