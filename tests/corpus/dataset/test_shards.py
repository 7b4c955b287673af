from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from corpus.card import Card
from corpus.dataset import shards
from corpus.dataset.shards import data_files, schemas, write_shards
from corpus.dataset.tables import CONFIGS
from corpus.session import Session
from corpus.tables import write_corpus


def numbered(session: Session, count: int) -> list[Session]:
    return [replace(session, session=number) for number in range(count)]


def write(folder: Path, sessions: list[Session], shard_bytes: int = shards.SHARD_BYTES) -> None:
    write_corpus(folder / "native", sessions, Card("agentreel 0.1.0"))
    write_shards(folder, sessions, "v1", shard_bytes)


def test_what_is_written_is_read_again_with_the_same_columns(captured: Session, tmp_path: Path) -> None:
    write(tmp_path, numbered(captured, 3))
    for name, config in CONFIGS.items():
        (file,) = data_files(tmp_path)[name]
        assert file == f"data/{name}/train-00000-of-00001.parquet"
        table = pq.read_table(tmp_path / file)
        assert table.schema.equals(schemas()[name])
        assert table.num_rows == sum(len(list(config.rows(one, "v1"))) for one in numbered(captured, 3))


def test_row_groups_and_shards_hold_whole_sessions(
    captured: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "GROUP_REQUESTS", 2 * len(captured.requests))
    write(tmp_path, numbered(captured, 5), shard_bytes=1)
    files = data_files(tmp_path)["requests"]
    assert files == [f"data/requests/train-{n:05d}-of-00003.parquet" for n in range(3)]
    sessions = [set(pq.read_table(tmp_path / file)["session"].to_pylist()) for file in files]
    assert sessions == [{0, 1}, {2, 3}, {4}]


def test_files_hold_nothing_but_their_columns(captured: Session, tmp_path: Path) -> None:
    write(tmp_path, [captured])
    for name in CONFIGS:
        for file in data_files(tmp_path)[name]:
            assert pq.read_metadata(tmp_path / file).metadata is None


def test_integers_are_packed_as_deltas(captured: Session, tmp_path: Path) -> None:
    write(tmp_path, [captured])
    group = pq.read_metadata(tmp_path / data_files(tmp_path)["requests"][0]).row_group(0)
    packed = {group.column(n).path_in_schema: group.column(n) for n in range(group.num_columns)}
    ids = packed["hash_ids.list.element"]
    assert "DELTA_BINARY_PACKED" in ids.encodings
    assert ids.compression == "ZSTD"


def test_a_table_without_rows_is_no_config(captured: Session, tmp_path: Path) -> None:
    write(tmp_path, [replace(captured, tool_calls=())])
    assert "native_tool_calls" not in data_files(tmp_path)
    assert "native_edges" in data_files(tmp_path)
