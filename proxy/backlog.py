"""What was heard and not yet written: a queue bounded in bytes between the event loop and the writer's thread.

Traffic never waits for the disk. When the queue is full a record goes in without its body, and its small parts still
count towards a second, higher bound; beyond that the record itself is lost. Both are counted, and an emptied record
says so (a request by the size its body had, a response by its error), so that a gap is never mistaken for silence.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from corpus.exchange import GapCause, RequestRecord
from proxy.assembler import Record

MAX_BACKLOG_BYTES: Final = 256 * 1024 * 1024
DROPPED_NOTE: Final = "body dropped: the writer fell behind"

# A record without its body: ids, times and headers, measured at about 2 KB, and two integers a chunk.
_RECORD_BYTES: Final = 2048
_CHUNK_BYTES: Final = 64


class Backlog:
    """Many may `put`, one takes. `max_bytes` bounds bodies, an eighth more the rest."""

    def __init__(self, max_bytes: int = MAX_BACKLOG_BYTES, note_gap: Callable[[GapCause], None] | None = None) -> None:
        self.dropped = 0  # records that lost their body, or were lost whole
        self._note_gap = note_gap
        self._max_bytes = max_bytes
        self._hard_bytes = max_bytes + max_bytes // 8
        self._held_bytes = 0
        self._records: deque[Record] = deque()
        self._closed = False
        self._changed = threading.Condition()

    def put(self, record: Record) -> None:
        """Never blocks for longer than the lock is held by `take`, which only moves references."""
        with self._changed:
            full = self._held_bytes + _size(record) > self._max_bytes
            kept = _without_body(record) if full else record
            lost = self._closed or self._held_bytes + _size(kept) > self._hard_bytes
            if lost or kept is not record:
                self.dropped += 1
                if self._note_gap:
                    self._note_gap("backlog")
            if not lost:
                self._held_bytes += _size(kept)
                self._records.append(kept)
                self._changed.notify()

    def take(self, timeout_s: float) -> Record | None:
        """The oldest record; None when nothing came in time or the queue is closed and empty."""
        with self._changed:
            if not self._records and not self._closed:
                self._changed.wait(timeout_s)
            if not self._records:
                return None
            record = self._records.popleft()
            self._held_bytes -= _size(record)
            return record

    def close(self) -> None:
        """Nothing more is taken in; what is there can still be taken out."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def wait_closed(self, timeout_s: float) -> None:
        """Returns when it was closed, or after `timeout_s`; at once for none."""
        with self._changed:
            if timeout_s > 0:
                self._changed.wait_for(lambda: self._closed, timeout_s)

    @property
    def held_bytes(self) -> int:
        """Bodies and an estimate of the rest, waiting to be written."""
        return self._held_bytes

    @property
    def drained(self) -> bool:
        with self._changed:
            return self._closed and not self._records


def _size(record: Record) -> int:
    chunks = 0 if isinstance(record, RequestRecord) else len(record.chunk_sizes)
    return len(record.body) + _RECORD_BYTES + _CHUNK_BYTES * chunks


def _without_body(record: Record) -> Record:
    if not record.body:
        return record
    if isinstance(record, RequestRecord):
        return replace(record, body=b"")
    return replace(record, body=b"", body_bytes=0, error=record.error or DROPPED_NOTE)
