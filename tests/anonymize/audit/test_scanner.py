from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonymize.audit.scanner import find_scanner, scan

# Made up, in the shape of a real key, and put together here so that no scanner finds it in this file
KEY = "ghp_" + "R4kP9vX2mQ7wL1zT" + "8bN3cJ6yH5sD0fGaUeT7"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "corpus"
    made.mkdir()
    pq.write_table(pa.table({"number": [1, 2], "word": ["turn", "title"]}), made / "requests.parquet")
    (made / "card.json").write_text("{}")
    return made


def program(tmp_path: Path, code: int) -> str:
    """A stand-in for the scanner: it fails to find anything unless it is given plain files."""
    path = tmp_path / "kingfisher"
    path.write_text(f'#!/bin/sh\nfor last; do :; done\ngrep -rq {KEY} "$last" && exit 200\nexit {code}\n')
    path.chmod(0o755)
    return str(path)


def test_a_clean_folder_passes(folder: Path, tmp_path: Path) -> None:
    assert scan(folder, program(tmp_path, 0)) is None


@pytest.mark.parametrize("where", ["card.json", "requests.parquet"])
def test_a_planted_key_is_caught_also_inside_packed_tables(folder: Path, tmp_path: Path, where: str) -> None:
    plant(folder / where)
    assert scan(folder, program(tmp_path, 0)) == "the scanner found what looks like a secret"


def test_a_scanner_that_fails_is_no_pass(folder: Path, tmp_path: Path) -> None:
    assert scan(folder, program(tmp_path, 2)) == "the scanner failed with exit code 2"
    assert scan(folder, str(tmp_path / "nothing")) == "the scanner could not be run (FileNotFoundError)"


@pytest.mark.parametrize("where", [None, "card.json", "requests.parquet"])
def test_the_real_scanner_agrees(folder: Path, where: str | None) -> None:
    real = find_scanner()
    if real is None:
        pytest.skip("kingfisher is not installed")
    if where:
        plant(folder / where)
    assert (scan(folder, real) is None) == (where is None)


def plant(path: Path) -> None:
    if path.suffix == ".json":
        path.write_text(f'{{"github_token": "{KEY}"}}')
    else:
        pq.write_table(pa.table({"github_token": [KEY]}), path)
