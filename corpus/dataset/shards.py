"""A dataset's folder: shards of the whole-row tables, the corpus's own tables, and the card that names them.

    data/requests/train-00000-of-00002.parquet    packed as the corpus is: deltas, dictionaries, zstd
    data/sessions/..., data/weka/...
    native/                                       the corpus: five tables and its card
    README.md                                     the card

A row group holds whole sessions, as many as come to a thousand requests, so a reader that streams holds little; a shard
ends with the row group that fills it. Nothing but the columns is in a file: no schema copies, no times, no paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from corpus.dataset.tables import CONFIGS, Config, Row
from corpus.schemas import SCHEMAS, open_writer
from corpus.session import Session

GROUP_REQUESTS: Final = 1000
SHARD_BYTES: Final = 256 << 20
NATIVE: Final = "native"


def write_shards(folder: Path, sessions: Iterable[Session], release: str, shard_bytes: int = SHARD_BYTES) -> None:
    """The shards of every config; `folder` must not hold any yet, and there must be a session."""
    writers = {name: _Shards(folder / "data" / name, config, shard_bytes) for name, config in CONFIGS.items()}
    waiting: list[Session] = []
    for session in sessions:
        waiting.append(session)
        if sum(len(one.requests) for one in waiting) >= GROUP_REQUESTS:
            _flush(writers, waiting, release)
            waiting = []
    _flush(writers, waiting, release)
    for writer in writers.values():
        writer.finish()


def data_files(folder: Path) -> dict[str, list[str]]:
    """Per config, the one to load by default first: its files, relative to the dataset's folder.

    A table without a row is no config: `load_dataset` takes it for a missing one.
    """
    found = {name: sorted((folder / "data" / name).glob("*.parquet")) for name in CONFIGS}
    tables = {_native(table): folder / NATIVE / f"{table}.parquet" for table in SCHEMAS}
    native = {name: [file] for name, file in tables.items() if pq.read_metadata(file).num_rows}
    return {
        name: [file.relative_to(folder).as_posix() for file in files]
        for name, files in (found | dict(sorted(native.items()))).items()
    }


def schemas() -> dict[str, pa.Schema]:
    """Per config, in the order of `data_files`."""
    whole = {name: config.schema for name, config in CONFIGS.items()}
    return whole | dict(sorted((_native(table), schema) for table, schema in SCHEMAS.items()))


def _native(table: str) -> str:
    return NATIVE if table == "requests" else f"{NATIVE}_{table}"


def _flush(writers: Mapping[str, _Shards], sessions: list[Session], release: str) -> None:
    if sessions:
        for writer in writers.values():
            writer.write([row for session in sessions for row in writer.config.rows(session, release)])


class _Shards:
    """One config's files; how many there are is known at the end, so they get their names then."""

    def __init__(self, folder: Path, config: Config, shard_bytes: int) -> None:
        folder.mkdir(parents=True)
        self.config = config
        self._folder = folder
        self._schema = config.schema
        self._shard_bytes = shard_bytes
        self._writer: pq.ParquetWriter | None = None
        self._count = 0

    def write(self, rows: list[Row]) -> None:
        if self._writer is None:
            self._writer = open_writer(str(self._path()), self._schema)
        self._writer.write_table(_table(rows, self._schema), row_group_size=len(rows))
        if self._path().stat().st_size >= self._shard_bytes:
            self._close()

    def finish(self) -> None:
        if self._writer is not None:
            self._close()
        for number in range(self._count):
            name = f"train-{number:05d}-of-{self._count:05d}.parquet"
            (self._folder / f"{number}.parquet").rename(self._folder / name)

    def _path(self) -> Path:
        return self._folder / f"{self._count}.parquet"

    def _close(self) -> None:
        assert self._writer is not None
        self._writer.close()
        self._writer = None
        self._count += 1


def _table(rows: list[Row], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_arrays([_array([row[f.name] for row in rows], f.type) for f in schema], schema=schema)


def _array(values: list[object], kind: pa.DataType) -> pa.Array[Any]:
    """Arrow builds no lists of an extension type from Python values; its storage is built and wrapped."""
    if isinstance(kind, pa.JsonType):
        return pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type))
    if pa.types.is_list(kind) and isinstance(kind.value_type, pa.JsonType):
        storage: Any = pa.array(values, pa.list_(pa.field("element", kind.value_type.storage_type, nullable=False)))
        wrapped = pa.ExtensionArray.from_storage(kind.value_type, storage.values)
        return pa.ListArray.from_arrays(storage.offsets, wrapped, type=kind)
    return pa.array(values, kind)
