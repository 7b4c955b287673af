from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from corpus.card import Card
from corpus.schemas import SCHEMAS
from corpus.session import Session
from corpus.tables import write_corpus


@pytest.fixture
def written(tmp_path: Path, captured: Session, card: Card) -> Path:
    write_corpus(tmp_path / "corpus", [captured], card)
    return tmp_path / "corpus"


@pytest.mark.parametrize("name", SCHEMAS)
def test_words_are_dictionaries_and_integers_deltas_under_zstd(written: Path, name: str) -> None:
    file = pq.ParquetFile(written / f"{name}.parquet")
    group = file.metadata.row_group(0)
    for column in map(group.column, range(group.num_columns)):
        assert column.compression == "ZSTD"
        expected = {"INT32": "DELTA_BINARY_PACKED", "INT64": "DELTA_BINARY_PACKED", "BYTE_ARRAY": "RLE_DICTIONARY"}
        assert expected.get(column.physical_type, "PLAIN") in column.encodings, column.path_in_schema


@pytest.mark.parametrize("name", SCHEMAS)
def test_files_carry_no_metadata_of_other_tools(written: Path, name: str) -> None:
    file = pq.ParquetFile(written / f"{name}.parquet")
    assert file.metadata.metadata is None
    assert file.schema_arrow.equals(SCHEMAS[name], check_metadata=True)
