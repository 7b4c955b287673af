from __future__ import annotations

import re
from pathlib import Path

import pytest

import agentreel.publishing
from anonymize.audit.finding import Finding
from corpus.capture.reader import Captures
from corpus.tables import read_card
from tests.agentreel.building_site import built
from tests.agentreel.conftest import Call
from tests.fakehub import FakeHub


@pytest.fixture
def corpus(captures: Captures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    finding = Finding("T5", ok=True, detail="not run")
    monkeypatch.setattr(agentreel.publishing, "canary_finding", lambda _run: finding)
    built(captures, tmp_path / "corpus")
    return tmp_path / "corpus"


def test_a_corpus_is_rehearsed_published_and_pulled(
    hub: FakeHub, corpus: Path, agentreel: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = ("publish", corpus.name, "--repo", "org/name", "--license", "cc-by-4.0", "--tag", "v1")
    dry = agentreel(*given, "--dry-run")
    assert dry.code == 0, dry.err
    assert "not uploaded" in dry.out
    assert hub.calls == []
    done = agentreel(*given)
    assert done.code == 0, done.err
    assert "found what an earlier try made" in done.err
    assert hub.repos["org/name"].private
    assert not list(tmp_path.glob(".corpus.publish"))

    assert agentreel("pull", "org/name@v1", tmp_path / "pulled").code == 0
    assert read_card(tmp_path / "pulled").policy == "public"
    there, here = agentreel("stats", "hf:org/name@v1", "--json"), agentreel("stats", tmp_path / "pulled", "--json")
    assert there.out == here.out
    hub.calls.clear()
    agentreel("stats", "hf:org/name@v1", "--json")
    assert not [call for call in hub.calls if "resolve" in call], "it is kept"


def test_without_a_token_nothing_is_made_or_sent(
    hub: FakeHub, corpus: Path, agentreel: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    refused = agentreel("publish", corpus, "--repo", "org/name", "--license", "cc-by-4.0")
    assert refused.code == 1
    assert re.search(r"^error: .*HF_TOKEN", refused.err, re.MULTILINE)
    assert hub.calls == []
    assert not list(tmp_path.glob(".corpus.publish"))


def test_what_is_no_corpus_or_no_name_is_one_line(hub: FakeHub, agentreel: Call, tmp_path: Path) -> None:
    for path, repo in ((tmp_path, "org/name"), (tmp_path, "name")):
        refused = agentreel("publish", path, "--repo", repo, "--license", "mit", "--dry-run")
        assert refused.code == 1
        assert refused.err.count("\n") == 1
