from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corpus.tables import read_corpus

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
    assert len(sessions) == len(list(read_corpus(chain.corpus)))
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


@pytest.mark.parametrize(
    "target", ["weka", "mooncake", "mooncake-plain", "mooncake-delta", "mooncake-agentic", "bailian", "dag_jsonl"]
)
def test_a_recorded_corpus_becomes_every_format_and_is_read_again(
    agentreel: Call, chain: Any, tmp_path: Path, target: str
) -> None:
    path = tmp_path / f"{target}.delta.jsonl"
    said = agentreel("convert", chain.corpus, path, "--to", target)
    assert said.code == 0, said.err
    name = f"mooncake-delta:{path}" if target == "mooncake-delta" else path
    known = json.loads(agentreel("stats", chain.corpus, "--json").out)
    found = json.loads(agentreel("stats", name, "--json").out)
    assert 0 < found["requests"] <= known["requests"]
    assert found["output_tokens"]["max"] == known["output_tokens"]["max"]


def test_max_context_drops_single_requests_and_says_how_many(agentreel: Call, tmp_path: Path) -> None:
    requests = [REQUEST | {"t": n, "in": tokens, "out": 1} for n, tokens in enumerate((10, 999, 500, 1001, 20))]
    (tmp_path / "in.json").write_text(json.dumps(TINY | {"requests": requests}))
    said = agentreel("convert", tmp_path / "in.json", tmp_path / "out.json", "--to", "weka", "--max-context", 1000)
    assert said.code == 0
    assert "dropped 1 of 5 requests (20.0 %) over 1000 tokens" in said.err
    kept = json.loads((tmp_path / "out.json").read_bytes())["requests"]
    assert kept == [r for r in requests if r["in"] != 1001]


def test_max_context_that_fits_nothing_writes_nothing(agentreel: Call, tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text(json.dumps(TINY))
    said = agentreel("convert", tmp_path / "in.json", tmp_path / "out", "--to", "corpus", "--max-context", 1)
    assert (said.code, said.err) == (1, "error: --max-context: no request fits 1 tokens; raise it\n")
    assert not (tmp_path / "out").exists()


def test_sessions_left_empty_go_and_the_others_close_up(agentreel: Call, tmp_path: Path) -> None:
    lines = [TINY | {"id": name, "requests": [REQUEST | {"in": n}]} for name, n in (("a", 9), ("b", 99), ("c", 9))]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, lines)))
    said = agentreel("convert", tmp_path / "in.jsonl", tmp_path / "out", "--to", "corpus", "--max-context", 50)
    assert said.code == 0
    assert "and with them 1 sessions" in said.err
    assert json.loads(agentreel("stats", tmp_path / "out", "--json").out)["sessions"] == 2
