from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def test_the_report_says_per_model_how_far_off_each_stage_is(agentreel: Any, chain: Any, tmp_path: Path) -> None:
    said = agentreel("calibrate", chain.captures, "-o", tmp_path / "c.json", "--json")
    assert said.code == 0
    report = json.loads(said.out)
    assert set(report["models"]) == {"claude-opus-5-5", "gpt-6.2-sol"}
    for model in report["models"].values():
        assert model["fitted"]["within_5"] >= 0.95
        assert model["pinned"]["within_1"] >= 0.95
        assert model["raw"]["within_1"] < 0.5
    assert json.loads((tmp_path / "c.json").read_text())["report"] == report["models"]


def test_the_table_is_for_people(agentreel: Any, chain: Any) -> None:
    said = agentreel("calibrate", chain.captures)
    assert said.code == 0
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
