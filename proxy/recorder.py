"""The recorder: listeners, backlog and scribe put together, started and stopped.

`run_recorder` blocks until SIGTERM or SIGINT; a second signal ends the grace for streams in flight. `start_recorder`
runs the same in a thread, for a program that has something else to do. One recorder at a time in a process.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final

from corpus.capture.writer import CaptureWriter
from corpus.errors import InputError
from proxy.backlog import Backlog
from proxy.hearing import Hearing
from proxy.scribe import Fsync, Scribe
from proxy.upstreams import (
    ANTHROPIC_UPSTREAM,
    BASE_PATH,
    CHATGPT_UPSTREAM,
    OPENAI_UPSTREAM,
    Provider,
    Upstreams,
    parse_upstream,
)

# Clients wait up to 354 s for response headers, and models think for longer than that without a byte.
IDLE_LIMIT_S: Final = 2 * 3600

_one_at_a_time = threading.Lock()


@dataclass(frozen=True, slots=True)
class RecordSettings:
    captures: Path
    host: str = "127.0.0.1"
    anthropic_port: int = 8801  # 0: any free port
    openai_port: int = 8802
    anthropic_upstream: str = ANTHROPIC_UPSTREAM
    openai_upstream: str = OPENAI_UPSTREAM
    chatgpt_upstream: str = CHATGPT_UPSTREAM
    fsync: Fsync = "interval"
    grace_s: float = 10.0  # for streams in flight when stopping
    idle_limit_s: int = IDLE_LIMIT_S  # of silence on a client connection before it is cut


@dataclass(frozen=True, slots=True)
class Listening:
    """The base URLs to give to clients."""

    anthropic_url: str
    openai_url: str


@dataclass(frozen=True, slots=True)
class RecordTotals:
    """`dropped`: records that lost their body, or were lost, because the writer fell behind."""

    requests: int = 0
    responses: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    dropped: int = 0
    write_errors: int = 0
    listen_errors: int = 0  # faults of ours while listening; the traffic went on
    ends: dict[str, int] = field(default_factory=dict)


class RunningRecorder:
    """A recorder in a thread of its own."""

    def __init__(self, listening: Listening, stop: Callable[[], RecordTotals]) -> None:
        self.anthropic_url = listening.anthropic_url
        self.openai_url = listening.openai_url
        self._stop = stop

    def stop(self) -> RecordTotals:
        """Ends cleanly; blocks until all is written."""
        return self._stop()


def run_recorder(settings: RecordSettings, on_ready: Callable[[Listening], None]) -> RecordTotals:
    """Needs the main thread. InputError for an unusable port, upstream or directory."""

    async def run() -> RecordTotals:
        stop, hurry = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def heard_signal() -> None:
            (hurry if stop.is_set() else stop).set()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, heard_signal)
        return await _record(settings, on_ready, stop, hurry)

    return asyncio.run(run())


def start_recorder(settings: RecordSettings) -> RunningRecorder:
    """Returns when it listens; errors as `run_recorder`. No signals are handled."""
    ready: Future[tuple[Listening, Callable[[], None]]] = Future()
    totals: Future[RecordTotals] = Future()

    async def run() -> RecordTotals:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()

        def release() -> None:
            loop.call_soon_threadsafe(stop.set)

        return await _record(settings, lambda heard: ready.set_result((heard, release)), stop, asyncio.Event())

    def work() -> None:
        try:
            totals.set_result(asyncio.run(run()))
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits
            (totals if ready.done() else ready).set_exception(error)

    threading.Thread(target=work, name="agentreel-recorder", daemon=True).start()
    listening, release = ready.result()

    def stop() -> RecordTotals:
        if not totals.done():
            release()
        return totals.result()

    return RunningRecorder(listening, stop)


async def _record(
    settings: RecordSettings,
    on_ready: Callable[[Listening], None],
    stop: asyncio.Event,
    hurry: asyncio.Event,
) -> RecordTotals:
    from proxy.hooks import Hooks  # mitmproxy takes most of a second to import
    from proxy.listeners import Listeners

    upstreams = _upstreams(settings)
    _require_loopback(settings.host)
    _require_port(settings.anthropic_port, "--anthropic-port")
    _require_port(settings.openai_port, "--openai-port")
    if not _one_at_a_time.acquire(blocking=False):
        raise RuntimeError("a recorder is already running in this process")
    try:
        clock = steady_clock()
        backlog = Backlog()
        hearing = Hearing(backlog.put, clock, exchange_ids(), settings.idle_limit_s * 1_000_000)
        hooks = Hooks(upstreams, hearing)
        scribe = Scribe(backlog, _open_captures(settings.captures), settings.fsync, clock)
        listeners = Listeners(hooks, settings.idle_limit_s)
        scribe.start()
        try:
            ports = await listeners.start(
                settings.host, {"anthropic": settings.anthropic_port, "openai": settings.openai_port}
            )
            try:
                on_ready(_listening(settings.host, ports))
                await stop.wait()
            finally:
                await listeners.stop(settings.grace_s, hurry)
        finally:
            await asyncio.to_thread(scribe.finish)
        return _totals(scribe, backlog, hearing.failures)
    finally:
        _one_at_a_time.release()


def steady_clock() -> Callable[[], int]:
    """Unix microseconds that never step back: the wall clock's reading at the start, counted on monotonically."""
    offset_ns = time.time_ns() - time.monotonic_ns()
    return lambda: (offset_ns + time.monotonic_ns()) // 1000


def exchange_ids() -> Callable[[int], str]:
    """Ids that sort by time, unique over recorders: 14 hex digits of microseconds, 6 of this run, 6 of a counter."""
    run, numbers = secrets.token_hex(3), count()
    return lambda t_us: f"{t_us:014x}-{run}-{next(numbers) & 0xFFFFFF:06x}"


def _upstreams(settings: RecordSettings) -> Upstreams:
    return Upstreams(
        anthropic=parse_upstream(settings.anthropic_upstream, "--anthropic-upstream"),
        openai=parse_upstream(settings.openai_upstream, "--openai-upstream"),
        chatgpt=parse_upstream(settings.chatgpt_upstream, "--chatgpt-upstream"),
    )


def _require_loopback(host: str) -> None:
    """There is no access control yet, so nobody else may reach the listeners."""
    try:
        is_loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise InputError("--host", f"{host!r} is reachable by others, who could use it unasked", "use 127.0.0.1")


def _require_port(port: int, option: str) -> None:
    if not 0 <= port <= 65535:
        raise InputError(option, f"{port} is no port", "give one from 1 to 65535, or 0 for any free one")


def _open_captures(path: Path) -> CaptureWriter:
    try:
        return CaptureWriter(path, "w0")
    except OSError as error:
        raise InputError(path, f"cannot be written ({error.strerror})", "choose another directory") from error


def _listening(host: str, ports: dict[Provider, int]) -> Listening:
    shown = f"[{host}]" if ":" in host else host
    urls = {provider: f"http://{shown}:{port}{BASE_PATH[provider]}" for provider, port in ports.items()}
    return Listening(urls["anthropic"], urls["openai"])


def _totals(scribe: Scribe, backlog: Backlog, failures: int) -> RecordTotals:
    counts = scribe.counts
    return RecordTotals(
        requests=counts["requests"],
        responses=counts["responses"],
        request_bytes=counts["request_bytes"],
        response_bytes=counts["response_bytes"],
        dropped=backlog.dropped,
        write_errors=counts["write_errors"],
        listen_errors=failures,
        ends={key.removeprefix("end:"): number for key, number in sorted(counts.items()) if key.startswith("end:")},
    )
