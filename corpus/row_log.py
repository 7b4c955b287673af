"""Rows of a run while it goes on: each process appends to a file of its own, and nothing of them stays in memory.

The file is an Arrow stream: readable as far as it was written, so a process that is killed costs the rows of its last
seconds and no others. `corpus.run` puts the files together once the run is over.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pyarrow as pa

from corpus.run import ROW_SCHEMA, SentRequest, row_from

_ROWS: Final = 64  # of a batch: 1 ms of work, so that nobody is sent late by it
_LONGEST_S: Final = 2.0  # that a row waits for its batch to be full, while rows come


class RowLog:
    """OSError when the disk is full."""

    def __init__(self, path: Path) -> None:
        self._file = pa.OSFile(str(path), "wb")
        self._stream = pa.ipc.new_stream(self._file, ROW_SCHEMA)
        self._rows: list[SentRequest] = []
        self._since_s = time.monotonic()

    def add(self, row: SentRequest) -> None:
        self._rows.append(row)
        if len(self._rows) >= _ROWS or time.monotonic() - self._since_s > _LONGEST_S:
            self._write()

    def close(self) -> None:
        self._write()
        self._stream.close()
        self._file.close()

    def _write(self) -> None:
        rows, self._rows = self._rows, []
        self._since_s = time.monotonic()
        if rows:
            columns = [pa.array([getattr(row, field.name) for row in rows], field.type) for field in ROW_SCHEMA]
            self._stream.write_batch(pa.RecordBatch.from_arrays(columns, schema=ROW_SCHEMA))


def read_row_log(path: Path) -> Iterator[SentRequest]:
    """Rows in the order they were added; a torn end is the end."""
    with suppress(pa.ArrowInvalid, OSError, StopIteration), pa.OSFile(str(path), "rb") as file:
        stream = pa.ipc.open_stream(file)
        number = 0
        while True:
            for row in stream.read_next_batch().to_pylist():
                yield row_from(row, f"{path}: row {number}")
                number += 1
