from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import agentreel.auditing
from corpus.tables import read_card, read_corpus, write_corpus

Call = Callable[..., Any]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agentreel.auditing, "run_canaries", lambda _: [])


def test_every_test_is_listed_with_its_finding(agentreel: Call, chain: Any) -> None:
    said = agentreel("audit", chain.corpus, "--against", chain.captures, "--json")
    assert said.code == 0
    found = json.loads(said.out)
    assert found["ok"] is True
    assert [test["id"] for test in found["tests"]] == [f"T{n}" for n in range(1, 15)]
    assert all(set(test) == {"id", "name", "ok", "detail"} for test in found["tests"])


def test_a_failed_test_is_shown_and_is_exit_code_1(agentreel: Call, chain: Any, tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus", read_corpus(chain.corpus), read_card(chain.corpus))
    (tmp_path / "corpus" / "notes.txt").write_text("jane")
    said = agentreel("audit", tmp_path / "corpus", "--against", chain.captures)
    assert said.code == 1
    assert "FAILED T12" in said.out
    assert said.out.count("FAILED") == 1


def test_what_is_no_corpus_or_no_capture_is_one_line(agentreel: Call, chain: Any, tmp_path: Path) -> None:
    for corpus, captures in ((tmp_path, chain.captures), (chain.corpus, tmp_path)):
        said = agentreel("audit", corpus, "--against", captures)
        assert (said.code, said.err.count("\n")) == (1, 1)
