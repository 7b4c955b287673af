"""Writing captures: one file per (session, worker, run), one append per record, nothing ever rewritten.

Every record reaches the kernel whole before the call returns, so a killed recorder loses at most the record in flight;
`sync` is what a power cut asks for, and when to call it is the caller's choice. A failed write is cut off again: the
frame ends before it and the next record opens a new one. Open files cost memory (a compressor and what it compares
with, some MB each), so idle ones are released, and the longest unused ones when all together hold too much; they are
reopened when needed, and begin anew.

One instance belongs to one thread; several workers and runs may write into one directory. It has no clock: the
times are those of the records.
"""

from __future__ import annotations

import contextlib
import os
import resource
import secrets
from collections import OrderedDict
from pathlib import Path
from typing import Final

from corpus.capture.directory import prepare_captures, segment_name
from corpus.capture.lock import WriterLock
from corpus.capture.meta import dump_gap, dump_request, dump_response
from corpus.capture.segment import FRAME_END, FrameEncoder, Marker, Record
from corpus.exchange import GapRecord, RequestRecord, ResponseRecord

IDLE_US: Final = 300_000_000  # tools and people take minutes; as long as providers keep a prompt
HELD_BYTES: Final = 512 << 20  # a session that sends 600 KB holds 2 MB: more than 200 of them
OPEN_FILES: Final = 256  # at most a quarter of what the process may have: connections need two each


class CaptureWriter:
    """Makes `directory` (0700) a capture directory, or goes on with one.

    InputError when it is something else, ValueError when `worker` is no short word, OSError when the disk refuses.
    """

    def __init__(self, directory: Path, worker: str) -> None:
        prepare_captures(directory)
        self._lock = WriterLock(directory)
        self._directory = directory
        self._worker = worker
        self._run = secrets.token_hex(6)
        self._nonce = secrets.token_bytes(8)
        self._open: OrderedDict[str | None, _Segment] = OrderedDict()  # longest unused first
        self._held_bytes = 0  # by those that are open; kept, so that no record takes a walk over all of them
        self._directory_changed = True
        segment_name(None, worker, self._run)  # refuses a bad name now, not at the first record

    def write_request(self, record: RequestRecord) -> None:
        """OSError: this record is not stored, all earlier ones are; further calls may succeed."""
        stored = Record("request", dump_request(record), record.body)
        self._append(record.identity.session_id, stored, record.t_body_us)

    def write_response(self, session_id: str | None, record: ResponseRecord) -> None:
        """`session_id` is that of the request; errors as in `write_request`."""
        self._append(session_id, Record("response", dump_response(record), record.body), record.t_end_us)

    def write_gap(self, record: GapRecord) -> None:
        """Gaps lie with the requests that name no session; errors as in `write_request`."""
        self._append(None, Record("gap", dump_gap(record), b""), record.t_end_us)

    def sync(self) -> None:
        """Everything written so far survives a power cut, once this returns."""
        for segment in self._open.values():
            segment.sync()
        if self._directory_changed:
            _sync_directory(self._directory)
            self._directory_changed = False

    def release_idle(self, now_us: int) -> None:
        """Release files without a record for `IDLE_US`; `now_us` on the clock of the records."""
        for session_id in [key for key, segment in self._open.items() if segment.last_us + IDLE_US <= now_us]:
            self._release(session_id)

    def close(self) -> None:
        """End all frames and sync; every file is closed even if one of them fails (then with its OSError)."""
        with contextlib.ExitStack() as stack:
            stack.callback(self._lock.release)
            stack.callback(self.sync)
            while self._open:
                stack.callback(self._open.popitem()[1].release)

    def _append(self, session_id: str | None, record: Record, at_us: int) -> None:
        while self._held_bytes > HELD_BYTES:
            self._release(next(iter(self._open)))
        segment = self._open.get(session_id) or self._open_segment(session_id)
        self._open.move_to_end(session_id)
        before = segment.held_bytes
        try:
            segment.append(record, at_us)
        finally:
            self._held_bytes += segment.held_bytes - before

    def _open_segment(self, session_id: str | None) -> _Segment:
        while len(self._open) >= _most_files():
            self._release(next(iter(self._open)))
        path = self._directory / segment_name(session_id, self._worker, self._run)
        segment = _Segment(path, self._nonce, session_id, self._worker)
        self._open[session_id] = segment
        self._directory_changed = True
        return segment

    def _release(self, session_id: str | None) -> None:
        segment = self._open.pop(session_id)
        self._held_bytes -= segment.held_bytes
        segment.release()


def _most_files() -> int:
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return OPEN_FILES if allowed == resource.RLIM_INFINITY else max(1, min(OPEN_FILES, allowed // 4))


class _Segment:
    """One file, open or released; its content always ends on a record, or is cut back to there."""

    def __init__(self, path: Path, nonce: bytes, session_id: str | None, worker: str) -> None:
        self._path = path
        self._nonce = nonce
        self._session_id = session_id
        self._worker = worker
        self._descriptor: int | None = None
        self._encoder: FrameEncoder | None = None
        self._frame_open = False  # in the file, whatever became of its encoder
        self._unsynced = False
        self.last_us = 0

    @property
    def held_bytes(self) -> int:
        return self._encoder.held_bytes if self._encoder else 0

    def append(self, record: Record, at_us: int) -> None:
        self.last_us = at_us
        encoder = self._encoder
        prefix = b""
        if encoder is None or encoder.full:
            prefix = FRAME_END if self._frame_open else b""
            encoder = FrameEncoder(Marker(self._nonce, self._session_id, self._worker, at_us))
        self._encoder = None  # a record that was encoded but not written would be part of its state
        self._write(prefix + encoder.encode(record))
        self._encoder = encoder
        self._frame_open = True

    def sync(self) -> None:
        if self._unsynced and self._descriptor is not None:
            _sync_data(self._descriptor)
            self._unsynced = False

    def release(self) -> None:
        """End the frame, sync, close the file and free the compressor; the next record needs a new `_Segment`."""
        self._encoder = None
        if self._descriptor is None:
            return
        try:
            if self._frame_open:
                self._write(FRAME_END)
                self._frame_open = False
            self.sync()
        finally:
            os.close(self._descriptor)
            self._descriptor = None

    def _write(self, data: bytes) -> None:
        if self._descriptor is None:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._descriptor = os.open(self._path, flags, 0o600)
        size = os.fstat(self._descriptor).st_size
        self._unsynced = True
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError:
            with contextlib.suppress(OSError):  # then the reader finds the next frame's marker behind the rest
                os.ftruncate(self._descriptor, size)
            raise


def _sync_data(descriptor: int) -> None:
    getattr(os, "fdatasync", os.fsync)(descriptor)  # macOS has no fdatasync


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
