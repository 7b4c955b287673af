from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from anonymize.audit.folder import audit_folder, refuse_unless_passed, summary
from anonymize.audit.uniqueness import Uniqueness
from anonymize.public import public_session
from corpus.blocks import encode_blocks
from corpus.card import Card
from corpus.errors import InputError
from corpus.session import Session
from corpus.tables import write_corpus
from tests.anonymize.exchanges import claude_answer, claude_body, exchange, session_of, user

CARD = Card("agentreel 0.1.0", "words", "0" * 64, 64)


@pytest.fixture
def session() -> Session:
    return session_of([exchange(1, claude_body([user("hi")]), claude_answer({"type": "text", "text": "hello"}))])


def failed(folder: Path) -> list[str]:
    return [finding.id for finding in audit_folder(folder) if not finding.ok]


def test_a_corpus_passes_all_quick_tests(tmp_path: Path, session: Session) -> None:
    write_corpus(tmp_path / "corpus", [session, replace(session, session=1)], CARD, approve=refuse_unless_passed)
    uniqueness = Uniqueness()
    findings = audit_folder(tmp_path / "corpus", uniqueness)
    assert [finding.id for finding in findings] == ["T1", "T7", "T8", "T11", "T12"]
    assert all(finding.ok for finding in findings)
    assert uniqueness.sessions == 2


def test_a_public_corpus_is_held_against_the_public_column(tmp_path: Path, session: Session) -> None:
    public = replace(CARD, policy="public")
    write_corpus(tmp_path / "good", [public_session(session)], public)
    write_corpus(tmp_path / "bad", [session], public)
    assert failed(tmp_path / "good") == []
    assert "T7" in failed(tmp_path / "bad")


def with_block(session: Session, block: int) -> Session:
    return replace(session, requests=(replace(session.requests[0], blocks=encode_blocks([[block]])[0]),))


@pytest.mark.parametrize(
    ("plant", "caught"),
    [
        (lambda session: with_block(session, 1 << 50), "T1"),
        (lambda session: replace(session, source='{"id": "jane"}'), "T7"),
        (lambda session: replace(session, models=("/home/jane",)), "T8"),
        (lambda session: replace(session, requests=(replace(session.requests[0], t_start_us=1),)), "T11"),
    ],
)
def test_a_planted_failure_is_caught_by_its_test_and_nothing_is_written(
    tmp_path: Path, session: Session, plant: Callable[[Session], Session], caught: str
) -> None:
    with pytest.raises(InputError, match="audit T"):
        write_corpus(tmp_path / "corpus", [plant(session)], CARD, approve=refuse_unless_passed)
    assert not (tmp_path / "corpus").exists()
    write_corpus(tmp_path / "corpus", [plant(session)], CARD)
    assert caught in failed(tmp_path / "corpus")


def test_a_planted_file_and_a_planted_word_on_the_card_are_caught(tmp_path: Path, session: Session) -> None:
    write_corpus(tmp_path / "corpus", [session], replace(CARD, tokenizer="/home/jane"))
    (tmp_path / "corpus" / "notes.txt").touch()
    assert failed(tmp_path / "corpus") == ["T7", "T8", "T12"]


def test_many_flaws_are_counted() -> None:
    assert summary(["one", "two", "three"]) == "one, and 2 more"
