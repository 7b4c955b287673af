"""One process's recorder: gate, hooks, backlog, scribe and listeners put together.

mitmproxy keeps its master and options in module globals, so there is one engine at a time in a process.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path

from corpus.capture.writer import CaptureWriter
from corpus.errors import InputError
from proxy.backlog import Backlog
from proxy.forward import Forward
from proxy.gaps import Gaps
from proxy.gate import Gate
from proxy.hearing import Hearing
from proxy.hooks import Hooks
from proxy.listeners import Listener, Listeners
from proxy.scribe import Scribe
from proxy.settings import Checked, RecordSettings
from proxy.totals import Snapshot

_one_at_a_time = threading.Lock()


class Engine:
    """`start` first, `stop` last, both in one running event loop. `worker` names this process in file names."""

    def __init__(self, settings: RecordSettings, checked: Checked, worker: str) -> None:
        self._settings = settings
        self._client_tls = checked.tls
        clock = steady_clock()
        self._gaps = Gaps()
        self._backlog = Backlog(note_gap=lambda cause: self._gaps.note(cause, clock()))
        self._gate = Gate(
            checked.tokens,
            settings.host_names,
            settings.forwarded,
            lambda cause: self._gaps.note(cause, clock()),
        )
        self._hearing = Hearing(self._backlog.put, clock, exchange_ids(), settings.idle_limit_s * 1_000_000)
        self._hearing.mutes = self._gate.mutes
        self._hearing.on_failure = lambda: self._gaps.note("fault", clock())
        self._scribe = Scribe(
            self._backlog, _open_captures(settings.captures, worker), settings.fsync, clock, self._gaps
        )
        forward = Forward(settings.forwarded)
        hooks = Hooks(checked.upstreams, self._hearing)
        self._listeners = Listeners(self._gate, forward, hooks, settings.idle_limit_s, checked.ca_folder)
        self._last_warning = LastWarning(clock)

    async def start(self, sockets: Mapping[Listener, socket.socket]) -> None:
        """Takes the sockets over. RuntimeError when another engine runs in this process."""
        if not _one_at_a_time.acquire(blocking=False):
            raise RuntimeError("a recorder is already running in this process")
        self._last_warning.install()
        self._scribe.start()
        try:
            await self._listeners.start(sockets, self._client_tls)
        except BaseException:
            await self._finish()
            raise

    async def stop(self, hurry: asyncio.Event) -> None:
        """Ends cleanly: grace for streams in flight (none after `hurry`), everything written."""
        try:
            await self._listeners.stop(self._settings.grace_s, hurry)
        finally:
            await self._finish()

    def pause(self, *, paused: bool) -> None:
        """Requests that begin while it is paused pass and are not recorded."""
        self._gate.paused = paused

    def snapshot(self) -> Snapshot:
        counts = Counter(dict(self._scribe.counts))
        counts["dropped"] = self._backlog.dropped
        counts["listen_errors"] = self._hearing.failures
        counts.update({f"gap:{cause}": number for cause, number in dict(self._gaps.total).items()})
        counts.update({f"refused:{status}": number for status, number in self._gate.refused.items()})
        return Snapshot(
            paused=self._gate.paused,
            open=len(self._hearing.open),
            backlog_bytes=self._backlog.held_bytes,
            counts=dict(counts),
            sessions=tuple(self._scribe.tally.sessions()),
            last_error=self._last_warning.last,
        )

    async def _finish(self) -> None:
        try:
            await asyncio.to_thread(self._scribe.finish)
        finally:
            self._last_warning.uninstall()
            _one_at_a_time.release()


class LastWarning(logging.Handler):
    """Remembers the room's last warning, which holds no content, and leaves showing it to whoever else is there."""

    def __init__(self, clock: Callable[[], int]) -> None:
        super().__init__(logging.WARNING)
        self.last: tuple[int, str] | None = None
        self._clock = clock

    def install(self) -> None:
        logging.getLogger("proxy").addHandler(self)

    def uninstall(self) -> None:
        logging.getLogger("proxy").removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.last = (self._clock(), record.getMessage())
        if not logging.getLogger().handlers and logging.lastResort:
            logging.lastResort.handle(record)  # it steps back where it finds any handler, such as this one


def steady_clock() -> Callable[[], int]:
    """Unix microseconds that never step back: the wall clock's reading at the start, counted on monotonically."""
    offset_ns = time.time_ns() - time.monotonic_ns()
    return lambda: (offset_ns + time.monotonic_ns()) // 1000


def exchange_ids() -> Callable[[int], str]:
    """Ids that sort by time, unique over recorders: 14 hex digits of microseconds, 6 of this run, 6 of a counter."""
    run, numbers = secrets.token_hex(3), count()
    return lambda t_us: f"{t_us:014x}-{run}-{next(numbers) & 0xFFFFFF:06x}"


def _open_captures(path: Path, worker: str) -> CaptureWriter:
    try:
        return CaptureWriter(path, worker)
    except OSError as error:
        raise InputError(path, f"cannot be written ({error.strerror})", "choose another directory") from error
