from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from corpus.tables import read_card, read_corpus


def test_the_report_says_per_model_how_far_off_each_stage_is(agentreel: Any, chain: Any, tmp_path: Path) -> None:
    said = agentreel("calibrate", chain.captures, "-o", tmp_path / "c.json", "--json")
    assert said.code == 0
    report = json.loads(said.out)
    assert set(report["models"]) == {"claude-opus-5-5", "gpt-6.2-sol"}
    for model in report["models"].values():
        assert model["fitted"]["within_5"] >= 0.95
        assert model["pinned"]["within_1"] >= 0.95
        assert model["raw"]["within_1"] < 0.5
        assert model["reuse"]["requests"] > 0
    assert json.loads((tmp_path / "c.json").read_text())["report"] == report["models"]


def test_the_table_is_for_people(agentreel: Any, chain: Any) -> None:
    said = agentreel("calibrate", chain.captures)
    assert said.code == 0
    assert "prefix reuse" in said.out
    assert [word for word in ("raw", "scaled", "fitted", "pinned") if word in said.out] == [
        "raw",
        "scaled",
        "fitted",
        "pinned",
    ]


def test_an_existing_file_is_kept(agentreel: Any, chain: Any, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text("mine")
    assert agentreel("calibrate", chain.captures, "-o", tmp_path / "c.json").code == 1
    assert (tmp_path / "c.json").read_text() == "mine"


def ratios(corpus: Path) -> list[float]:
    counted = [request for session in read_corpus(corpus) for request in session.requests]
    return [one.input_tokens / one.usage.input_tokens for one in counted if one.usage and one.usage.input_tokens]


def test_a_corpus_built_with_it_has_the_lengths_that_the_provider_counted(
    agentreel: Any, chain: Any, tmp_path: Path
) -> None:
    """The stand-in counts four bytes a token, which no tokenizer does."""
    assert agentreel("calibrate", chain.captures, "-o", tmp_path / "c.json").code == 0
    for name in ("one", "two"):
        assert agentreel("build", chain.captures, tmp_path / name, "--calibration", tmp_path / "c.json").code == 0
    fitted, plain = ratios(tmp_path / "one"), ratios(chain.corpus)
    assert len(fitted) == len(plain) > 30
    assert all(abs(ratio - 1) < 0.01 for ratio in fitted)
    assert sum(abs(ratio - 1) < 0.01 for ratio in plain) < len(plain) / 2
    cards = [read_card(tmp_path / name) for name in ("one", "two")]
    assert cards[0].fingerprint == cards[1].fingerprint != read_card(chain.corpus).fingerprint
    assert cards[0].calibration == hashlib.sha256((tmp_path / "c.json").read_bytes()).hexdigest()
    assert read_card(chain.corpus).calibration is None


def test_build_refuses_what_is_no_calibration(agentreel: Any, chain: Any, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text("{}")
    said = agentreel("build", chain.captures, tmp_path / "corpus", "--calibration", tmp_path / "c.json")
    assert (said.code, (tmp_path / "corpus").exists()) == (1, False)
    assert "is no calibration" in said.err
