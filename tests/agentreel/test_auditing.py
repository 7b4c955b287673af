from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import agentreel.auditing
from agentreel.auditing import audit_corpus, run_canaries
from anonymize.audit.finding import NAMES, Finding
from corpus.capture.reader import open_captures
from corpus.tables import read_card, read_corpus, write_corpus
from dagbuild.link import link_session


def audited(chain: Any, corpus: Path) -> dict[str, Finding]:
    return {finding.id: finding for finding in audit_corpus(corpus, open_captures(chain.captures))}


def copied(chain: Any, target: Path, **changed: Any) -> Path:
    write_corpus(target, read_corpus(chain.corpus), replace(read_card(chain.corpus), **changed))
    return target


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The canaries have a test of their own."""
    monkeypatch.setattr(agentreel.auditing, "run_canaries", lambda _: [])


def test_a_built_corpus_passes_all_fourteen(chain: Any) -> None:
    found = audited(chain, chain.corpus)
    assert list(found) == list(NAMES)
    assert all(finding.ok for finding in found.values())


@pytest.mark.parametrize("test", ["T2", "T3", "T4", "T9", "T14"])
def test_a_live_audit_that_did_not_run_or_failed_is_no_pass(chain: Any, tmp_path: Path, test: str) -> None:
    ran = read_card(chain.corpus).audit
    without = {name: found for name, found in ran.items() if name != test}
    corpus = copied(chain, tmp_path / "without", audit=without)
    assert [one.id for one in audited(chain, corpus).values() if not one.ok] == [test]
    corpus = copied(chain, tmp_path / "failed", audit=without | {test: "failed on 1 of 5 sessions"})
    assert [one.id for one in audited(chain, corpus).values() if not one.ok] == [test]


def test_a_card_beside_another_corpus_proves_nothing(chain: Any, tmp_path: Path) -> None:
    corpus = copied(chain, tmp_path / "corpus")
    other = tmp_path / "other"
    write_corpus(other, [next(read_corpus(corpus))], read_card(corpus))
    text = (other / "card.json").read_text()
    (other / "card.json").write_text(text.replace(read_card(other).fingerprint, read_card(corpus).fingerprint))
    found = audited(chain, other)
    assert not found["T2"].ok
    assert "does not count" in found["T2"].detail


def test_a_planted_stretch_of_captured_text_fails_t6(chain: Any, tmp_path: Path) -> None:
    words = b"".join(one.request.body for one in open_captures(chain.captures).exchanges())
    start = words.index(b'"text":"') + 8
    planted = words[start : start + 20].decode()
    found = audited(chain, copied(chain, tmp_path / "corpus", created_by=planted))
    assert not found["T6"].ok
    assert planted not in found["T6"].detail
    assert not found["T7"].ok


def test_other_captures_are_noticed(chain: Any, tmp_path: Path) -> None:
    corpus = copied(chain, tmp_path / "corpus", rejected={"title": 1})
    found = audited(chain, corpus)
    assert not found["T6"].ok
    assert "these are not its captures" in found["T6"].detail


def test_a_scanner_that_finds_something_fails_t13(chain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agentreel.auditing, "find_scanner", lambda: "kingfisher")
    monkeypatch.setattr(agentreel.auditing, "scan", lambda *_: "found")
    assert not audited(chain, chain.corpus)["T13"].ok


def test_without_a_scanner_t13_says_that_it_was_skipped(chain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agentreel.auditing, "find_scanner", lambda: None)
    found = audited(chain, chain.corpus)["T13"]
    assert found.ok
    assert "skipped" in found.detail


def test_canaries_that_show_fail_t5(chain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agentreel.auditing, "run_canaries", lambda _: ["log.txt: canary 3 (raw)"])
    assert not audited(chain, chain.corpus)["T5"].ok


def test_canaries_recorded_and_built_with_this_code_do_not_show(tmp_path: Path) -> None:
    assert run_canaries(tmp_path) == []


@pytest.mark.parametrize("where", ["piece", "log", "words"])
def test_planted_canaries_are_found_on_the_whole_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    plants: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
        "piece": leak_into_pieces,
        "log": leak_into_the_log,
        "words": leak_as_a_word,
    }
    plants[where](monkeypatch)
    assert run_canaries(tmp_path)


def leak_into_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    real = agentreel.building._make_piece

    def leaky(task: Any, *rest: Any) -> Any:
        piece = real(task, *rest)
        body = next(open_captures(task.captures).exchanges()).request.body
        (task.folder / "debug.bin").write_bytes(body)
        return piece

    monkeypatch.setattr(agentreel.building, "_make_piece", leaky)


def leak_into_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    import logging

    real = link_session

    def leaky(session: Any) -> Any:
        logging.getLogger("x").debug("read quill000vexjumbogryphon")
        return real(session)

    monkeypatch.setattr(agentreel.building, "link_session", leaky)


def leak_as_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    real = link_session
    monkeypatch.setattr(
        agentreel.building, "link_session", lambda made: replace(real(made), harness="quill001vexjumbogryphon")
    )
    monkeypatch.setattr(agentreel.building, "check_record", lambda _: None)
    monkeypatch.setattr(agentreel.building, "refuse_unless_passed", lambda _: None)
