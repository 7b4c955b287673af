"""The worked examples of docs/ run, on the sample and on another corpus, and print what they promise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from corpus.card import Card
from corpus.tables import write_corpus
from tests.replay.rehearsal import Asked, edge, session_of

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))


def run(example: Path, *args: object) -> str:
    command = [sys.executable, "-W", "error", str(example), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_runs_on_the_sample(example: Path) -> None:
    assert run(example)


def test_look_at_a_corpus_counts_what_is_there(tmp_path: Path) -> None:
    asked = [Asked(0, 1, (1, 2)), Asked(2, 3, (1, 2, 3, 4)), Asked(4, 5, (1, 2, 3, 9))]
    session = session_of(asked, [edge(0, 1, 1), edge(1, 2, 1)])
    write_corpus(tmp_path / "small", [session], Card("a test of agentreel"))
    said = run(ROOT / "docs" / "examples" / "look_at_a_corpus.py", tmp_path / "small")
    assert "small: made with a test of agentreel" in said
    assert "1 sessions, 1 agents, 3 requests, 2 edges" in said
    assert "50.0% of all prompt tokens repeat" in said  # 2 and 3 of 10 blocks
