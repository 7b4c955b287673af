"""Rows of a run while it goes on: each process appends to a file of its own, and nothing of them stays in memory.

A row is one line of JSON. That takes 5 us to add, where a batch of columns would hold up the sending for milliseconds,
and is readable as far as it was written: a process that is killed costs the rows of its last second and no others.
`corpus.run` puts the files together once the run is over.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import orjson

from corpus.run import SentRequest, row_from

_LONGEST_S: Final = 1.0  # that a row may wait to be written, while rows come
_MOST_BYTES: Final = 1 << 16


class RowLog:
    """OSError when the disk is full."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb", buffering=0)
        self._lines = bytearray()
        self._written_s = time.monotonic()

    def add(self, row: SentRequest) -> None:
        self._lines += orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
        now_s = time.monotonic()
        if now_s - self._written_s > _LONGEST_S or len(self._lines) > _MOST_BYTES:
            self._written_s = now_s
            self._write()

    def close(self) -> None:
        try:
            self._write()
        finally:
            self._file.close()

    def _write(self) -> None:
        while self._lines:
            del self._lines[: self._file.write(self._lines)]


def read_row_log(path: Path) -> Iterator[SentRequest]:
    """Rows in the order they were added; a torn last line is none, and neither is a file that was never begun."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.endswith(b"\n"):
                yield row_from(orjson.loads(line), f"{path}:{number}")
