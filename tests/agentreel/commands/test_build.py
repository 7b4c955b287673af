from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentreel import building
from corpus.capture.reader import open_captures
from corpus.capture.writer import CaptureWriter

Call = Callable[..., Any]


def test_building_twice_gives_the_same_bytes_although_the_keys_differ(
    agentreel: Call, chain: Any, tmp_path: Path
) -> None:
    said = agentreel("build", chain.captures, tmp_path / "again", "--json")
    assert said.code == 0
    assert json.loads(said.out)["counts"]["requests"] > 0
    for table in sorted(chain.corpus.iterdir()):
        assert (tmp_path / "again" / table.name).read_bytes() == table.read_bytes()


def test_what_was_left_out_is_counted_with_its_reason(agentreel: Call, chain: Any, tmp_path: Path) -> None:
    said = agentreel("build", chain.captures, tmp_path / "corpus")
    assert "left out: 5 title" in said.out


def test_keep_aux_keeps_titles_as_requests(agentreel: Call, chain: Any, tmp_path: Path) -> None:
    agentreel("build", chain.captures, tmp_path / "corpus", "--keep-aux")
    said = agentreel("graph", tmp_path / "corpus", "--json")
    purposes = [request["purpose"] for session in json.loads(said.out) for request in session["requests"]]
    assert purposes.count("title") == 5


def test_an_existing_corpus_is_refused_without_force_and_left_as_it_was(agentreel: Call, chain: Any) -> None:
    before = (chain.corpus / "requests.parquet").read_bytes()
    said = agentreel("build", chain.captures, chain.corpus)
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert "already exists" in said.err
    assert (chain.corpus / "requests.parquet").read_bytes() == before


def test_something_that_is_no_capture_is_one_line_and_leaves_nothing(agentreel: Call, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    said = agentreel("build", tmp_path / "notes", tmp_path / "corpus")
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert not (tmp_path / "corpus").exists()


def test_empty_captures_say_that_nothing_was_recorded(agentreel: Call, tmp_path: Path) -> None:
    CaptureWriter(tmp_path / "captures", "w0").close()
    said = agentreel("build", tmp_path / "captures", tmp_path / "corpus")
    assert said.code == 1
    assert "no exchange was recorded" in said.err
    assert not (tmp_path / "corpus").exists()


def test_an_unknown_tokenizer_lists_the_known_ones(agentreel: Call, chain: Any, tmp_path: Path) -> None:
    said = agentreel("build", chain.captures, tmp_path / "corpus", "--tokenizer", "no-such")
    assert said.code == 1
    assert "deepseek-v4" in said.err


def test_worker_processes_write_the_same_bytes_and_say_what_the_audit_found(
    agentreel: Call, chain: Any, tmp_path: Path
) -> None:
    said = agentreel("build", chain.captures, tmp_path / "again", "--workers", "2")
    assert said.code == 0
    assert "audit T2: passed on" in said.out
    for table in sorted(chain.corpus.iterdir()):
        assert (tmp_path / "again" / table.name).read_bytes() == table.read_bytes()


def test_a_session_that_cannot_be_worked_on_is_listed_and_is_exit_code_3(
    agentreel: Call, chain: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = building.make_piece
    poison = open_captures(chain.captures).session_ids()[-1]

    def fail(task: building.SessionTask) -> building.Done:
        if task.session_ids == (poison,):
            raise ValueError("words of a prompt")
        return real(task)

    monkeypatch.setattr(building, "make_piece", fail)
    said = agentreel("build", chain.captures, tmp_path / "corpus", "--json")
    assert said.code == 3
    found = json.loads(said.out)
    assert [one["session"] for one in found["poison"]] == [poison or "without an id"]
    assert found["rejected"]["poison_session"] > 0
    assert "ValueError at test_build.py" in said.err
    assert "words of a prompt" not in said.err + said.out


def test_a_killed_build_goes_on_where_it_was(chain: Any, tmp_path: Path, agentreel: Call) -> None:
    """A real process, killed as soon as the first piece is there."""
    command = [sys.executable, "-m", "agentreel", "build", str(chain.captures), str(tmp_path / "corpus")]
    child = subprocess.Popen([*command, "--workers", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while child.poll() is None and not list(tmp_path.glob(".corpus.build/*.piece")):
        pass
    child.kill()
    child.wait()
    said = agentreel("build", chain.captures, tmp_path / "corpus", "--workers", "0")
    assert said.code == 0
    assert "sessions were done already" in said.err
    for table in sorted(chain.corpus.iterdir()):
        assert (tmp_path / "corpus" / table.name).read_bytes() == table.read_bytes()
