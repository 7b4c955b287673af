from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from anonymize.audit.files import find_metadata
from corpus.card import Card
from corpus.tables import write_corpus
from tests.anonymize.exchanges import claude_answer, claude_body, exchange, session_of, user


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    session = session_of([exchange(1, claude_body([user("hi")]), claude_answer({"type": "text", "text": "hello"}))])
    write_corpus(tmp_path / "corpus", [session], Card("agentreel 0.1.0", block_size=64))
    return tmp_path / "corpus"


def test_a_corpus_as_we_write_it_is_clean(folder: Path) -> None:
    assert list(find_metadata(folder)) == []


def test_a_planted_file_is_caught_and_its_name_not_repeated(folder: Path) -> None:
    (folder / "jane.txt").touch()
    assert list(find_metadata(folder)) == ["a file that does not belong to a corpus"]


def rewrite(path: Path, **options: object) -> None:
    table = pq.read_table(path)
    pq.write_table(table, path, **({"write_statistics": False, "store_schema": False} | options))  # type: ignore[arg-type]  # options by name


def with_metadata(path: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({"author": "jane"}), path, write_statistics=False)


@pytest.mark.parametrize(
    ("plant", "flaw"),
    [
        (with_metadata, "agents.parquet: key-value metadata"),
        (lambda path: rewrite(path, store_schema=True), "agents.parquet: key-value metadata"),
        (lambda path: rewrite(path, write_statistics=True), "agents.parquet: statistics of agent"),
        (lambda path: path.write_bytes((path.parent / "edges.parquet").read_bytes()), "agents.parquet: columns with"),
    ],
)
def test_planted_metadata_is_caught(folder: Path, plant: Callable[[Path], object], flaw: str) -> None:
    plant(folder / "agents.parquet")
    assert any(found.startswith(flaw) for found in find_metadata(folder))


def test_a_planted_writer_is_caught(folder: Path) -> None:
    path = folder / "agents.parquet"
    path.write_bytes(path.read_bytes().replace(b"parquet-cpp-arrow", b"jane-at-acme-corp"))
    assert list(find_metadata(folder)) == ["agents.parquet: an unknown writer"]


def test_a_card_with_anything_between_its_lines_is_caught(folder: Path) -> None:
    card = folder / "card.json"
    card.write_bytes(card.read_bytes() + b" ")
    assert list(find_metadata(folder)) == ["card.json: is not written as we write it"]
