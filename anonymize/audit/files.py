"""T12: the files of a corpus hold columns and a card, and nothing about who wrote them where.

Parquet keeps key-value metadata, the writer's name, statistics and an Arrow schema; a folder keeps names. All of them
are looked at in the file as it is, not as a reader shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from corpus.card import CARD_NAME, COUNTED
from corpus.schemas import SCHEMAS

_NAMES: Final = frozenset({CARD_NAME, *(f"{table}.parquet" for table in COUNTED)})
_WRITER: Final = re.compile(r"parquet-cpp-arrow version \d+\.\d+\.\d+")
_ARROW_FIELD_ID: Final = b"PARQUET:field_id"  # Arrow shows the number that Parquet itself gives each column


def find_metadata(folder: Path) -> Iterator[str]:
    """Everything in a corpus folder that is neither a column nor the card, by file and what it is."""
    for path in sorted(folder.iterdir()):
        if path.name not in _NAMES:
            yield "a file that does not belong to a corpus"  # its name may tell something
        elif path.suffix == ".parquet":
            yield from (f"{path.name}: {flaw}" for flaw in _parquet_flaws(path))
        elif orjson.dumps(orjson.loads(path.read_bytes()), option=orjson.OPT_INDENT_2) + b"\n" != path.read_bytes():
            yield f"{path.name}: is not written as we write it"


def _parquet_flaws(path: Path) -> Iterator[str]:
    with pq.ParquetFile(path) as file:
        metadata = file.metadata
        if metadata.metadata:
            yield "key-value metadata"
        if not _WRITER.fullmatch(metadata.created_by or ""):
            yield "an unknown writer"
        if not file.schema_arrow.equals(SCHEMAS[path.stem]) or _has_metadata(file.schema_arrow):
            yield "columns with metadata, or other columns"
        for group in range(metadata.num_row_groups):
            for number in range(metadata.num_columns):
                column = metadata.row_group(group).column(number)
                if column.statistics is not None and column.path_in_schema != "session":
                    yield f"statistics of {column.path_in_schema}"


def _has_metadata(schema: pa.Schema) -> bool:
    return bool(schema.metadata) or any(set(field.metadata or ()) - {_ARROW_FIELD_ID} for field in schema)
