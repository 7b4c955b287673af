from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]
TRACE = Path(__file__).resolve().parents[3].parent / "shared" / "traces" / "weka" / "trace_0277.json"
REQUEST = {"t": 0, "type": "n", "model": "m", "in": 1, "out": 1, "hash_ids": []}
TINY = {"id": "x", "models": ["m"], "block_size": 64, "hash_id_scope": "local", "requests": [REQUEST]}


@pytest.mark.skipif(not TRACE.exists(), reason="the public WEKA traces are not beside this checkout")
def test_a_public_trace_comes_back_equal_through_a_corpus(agentreel: Call, tmp_path: Path) -> None:
    assert agentreel("convert", TRACE, tmp_path / "corpus", "--to", "corpus").code == 0
    assert agentreel("convert", tmp_path / "corpus", tmp_path / "back.json", "--to", "weka").code == 0
    assert json.loads((tmp_path / "back.json").read_bytes()) == json.loads(TRACE.read_bytes())


def test_a_recorded_corpus_becomes_weka_with_one_file_a_session(agentreel: Call, chain: Any, tmp_path: Path) -> None:
    said = agentreel("convert", chain.corpus, tmp_path / "weka", "--to", "weka")
    assert said.code == 0
    sessions = [json.loads(path.read_bytes()) for path in sorted((tmp_path / "weka").iterdir())]
    assert len(sessions) == 7
    assert all(session["hash_id_scope"] == "local" for session in sessions)
    assert any(entry["type"] == "subagent" for session in sessions for entry in session["requests"])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"id": "x"', "broken JSON"),
        (json.dumps(TINY | {"surprise": 1}), "surprise"),
        (
            json.dumps(TINY | {"requests": [REQUEST | {"in": "many"}]}),
            "requests[0].in",
        ),
    ],
)
def test_broken_weka_is_one_line_that_names_the_place(
    agentreel: Call, tmp_path: Path, text: str, complaint: str
) -> None:
    (tmp_path / "bad.json").write_text(text)
    said = agentreel("convert", tmp_path / "bad.json", tmp_path / "out", "--to", "corpus")
    assert (said.code, said.err.count("\n"), said.out) == (1, 1, "")
    assert said.err.startswith(f"error: {tmp_path}/bad.json")
    assert complaint in said.err
    assert not (tmp_path / "out").exists()


def test_an_existing_output_is_refused_without_force(agentreel: Call, chain: Any, tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text("mine")
    said = agentreel("convert", chain.corpus, tmp_path / "out.jsonl", "--to", "weka")
    assert said.code == 1
    assert (tmp_path / "out.jsonl").read_text() == "mine"
    assert agentreel("convert", chain.corpus, tmp_path / "out.jsonl", "--to", "weka", "--force").code == 0
    assert (tmp_path / "out.jsonl").read_text() != "mine"
