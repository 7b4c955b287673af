"""The writer's thread: takes records from the backlog, finds out what they are, and writes them.

All parsing, compressing and file work happens here and not in the event loop, so it costs traffic no latency. Nothing
that goes wrong here stops it: a record that can't be written is counted and the next one is tried. What is missing is
written down as a gap as soon as writing works again.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable
from typing import Final, Literal, Protocol

from corpus.exchange import GapRecord, RequestRecord, ResponseRecord
from proxy.annotator import Annotator
from proxy.assembler import Record
from proxy.backlog import Backlog
from proxy.gaps import Gaps
from proxy.tally import Tally

Fsync = Literal["interval", "always", "never"]

SYNC_INTERVAL_US: Final = 1_000_000

# How old a record is when its turn comes: by then its request was passed on and the answer has mostly begun, so parsing
# (which holds the interpreter's lock for milliseconds) delays neither. It adds to what a kill can cost.
REST_US: Final = 80_000
# With more than this waiting nothing rests: memory is then worth more than latency.
RESTING_BYTES: Final = 16 * 1024 * 1024

_log = logging.getLogger(__name__)


class Pen(Protocol):
    """What is needed of `corpus.capture.writer.CaptureWriter`."""

    def write_request(self, record: RequestRecord, /) -> None: ...
    def write_response(self, session_id: str | None, record: ResponseRecord, /) -> None: ...
    def write_gap(self, record: GapRecord, /) -> None: ...
    def sync(self) -> None: ...
    def release_idle(self, now_us: int, /) -> None: ...
    def close(self) -> None: ...


class Scribe:
    """`pen` is used by the thread alone once `start` was called. The counts are final after `finish`."""

    def __init__(
        self, backlog: Backlog, pen: Pen, fsync: Fsync, clock: Callable[[], int], gaps: Gaps | None = None
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.tally = Tally()
        self._gaps = gaps or Gaps()
        self._backlog = backlog
        self._pen = pen
        self._fsync = fsync
        self._clock = clock
        self._annotator = Annotator()
        self._unsynced = False
        self._t_kept_us = clock()
        self._thread = threading.Thread(target=self._run, name="agentreel-scribe", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Writes what is left and closes the files; blocks until done."""
        self._backlog.close()
        self._thread.join()

    def _run(self) -> None:
        while not self._backlog.drained:
            record = self._backlog.take(timeout_s=1.0)
            if record is not None:
                self._rest(record)
                self._attempt(lambda record=record: self._write(record), loses_record=True)  # type: ignore[misc]
            self._keep()
        self._write_gaps()
        self._attempt(self._pen.close)

    def _rest(self, record: Record) -> None:
        if self._backlog.held_bytes > RESTING_BYTES:
            return
        heard_us = record.t_body_us if isinstance(record, RequestRecord) else record.t_end_us
        self._backlog.wait_closed(min(REST_US, heard_us + REST_US - self._clock()) / 1e6)

    def _write(self, record: Record) -> None:
        if isinstance(record, RequestRecord):
            is_new = not self._annotator.is_open(record.exchange_id)  # else a handshake that is now a turn
            request = self._named_request(record)
            self._pen.write_request(request)
            if is_new:
                self.tally.heard_request(request)
            self.counts.update(requests=is_new, request_bytes=len(request.body))
        else:
            session_id, response = self._named_response(record)
            self._pen.write_response(session_id, response)
            self.tally.heard_response(session_id, response)
            self.counts.update(responses=1, response_bytes=len(response.body))
            self.counts[f"end:{response.end}"] += 1
        self._unsynced = True
        if self._fsync == "always":
            self._sync()

    def _named_request(self, record: RequestRecord) -> RequestRecord:
        """What can't be told apart for a fault of ours is stored as it was heard."""
        try:
            return self._annotator.annotate_request(record)
        except Exception as error:  # noqa: BLE001 - a fault in reading must not cost the record
            self._note_unnamed(error)
            return record

    def _named_response(self, record: ResponseRecord) -> tuple[str | None, ResponseRecord]:
        try:
            return self._annotator.annotate_response(record)
        except Exception as error:  # noqa: BLE001 - as above
            self._note_unnamed(error)
            return None, record

    def _note_unnamed(self, error: Exception) -> None:
        self.counts["unnamed"] += 1
        _log.warning("a record could not be read and is stored as it was heard: %s", type(error).__name__)

    def _keep(self) -> None:
        """Once a second: make what was written durable and let idle sessions' compressors go."""
        now_us = self._clock()
        if now_us - self._t_kept_us < SYNC_INTERVAL_US:
            return
        self._t_kept_us = now_us
        self._write_gaps()
        if self._fsync == "interval" and self._unsynced:
            self._attempt(self._sync)
        self._attempt(lambda: self._pen.release_idle(now_us))

    def _sync(self) -> None:
        self._pen.sync()
        self._unsynced = False

    def _write_gaps(self) -> None:
        gaps = self._gaps.take()
        while gaps:
            try:
                self._pen.write_gap(gaps[0])
            except Exception:  # noqa: BLE001 - the disk is still full; these are kept for later
                self._gaps.give_back(gaps)
                return
            self._unsynced = True
            gaps.pop(0)

    def _attempt(self, work: Callable[[], None], *, loses_record: bool = False) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - a full disk or a bug here must never reach the traffic
            self.counts["write_errors"] += 1
            if loses_record:
                self._gaps.note("disk" if isinstance(error, OSError) else "fault", self._clock())
            # The message may hold content; its type and errno do not.
            _log.warning("a record or a file could not be written: %s %s", type(error).__name__, _errno(error))


def _errno(error: Exception) -> str:
    return f"(errno {error.errno})" if isinstance(error, OSError) else ""
