"""The recorder as other rooms use it: started, asked, paused, stopped; in this process or in several workers.

`run_recorder` blocks until SIGTERM or SIGINT; a second signal ends the grace for streams in flight. `start_recorder`
runs the same in a thread, for a program that has something else to do. One recorder at a time in a process.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final, Protocol

from proxy.settings import Checked, RecordSettings, check_settings
from proxy.sockets import bind, port_of, reserve
from proxy.totals import RecordTotals, Snapshot, totals_of
from proxy.tuning import tune_process
from proxy.upstreams import BASE_PATH

__all__ = [
    "Listening",
    "RecordSettings",
    "RecordTotals",
    "RunningRecorder",
    "Snapshot",
    "run_recorder",
    "start_recorder",
]

_LOOPBACK: Final = "127.0.0.1"  # where the forward proxy and the status page listen, whatever --host says
_TICK_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Listening:
    """The base URLs to give to clients, and what else is listened on."""

    anthropic_url: str
    openai_url: str
    forward_url: str | None = None
    status_url: str | None = None


class _Crew(Protocol):
    """What records: an engine here, or workers."""

    async def stop(self, hurry: asyncio.Event) -> None: ...
    def pause(self, *, paused: bool) -> None: ...
    def snapshot(self) -> Snapshot: ...


class RunningRecorder:
    """A recorder in a thread of its own."""

    def __init__(self, listening: Listening, crew: _Crew, stop: Callable[[], RecordTotals]) -> None:
        self.listening = listening
        self.anthropic_url = listening.anthropic_url
        self.openai_url = listening.openai_url
        self._crew = crew
        self._stop = stop

    def pause(self, *, paused: bool) -> None:
        self._crew.pause(paused=paused)

    def snapshot(self) -> Snapshot:
        return self._crew.snapshot()

    def stop(self) -> RecordTotals:
        """Ends cleanly; blocks until all is written."""
        return self._stop()


def run_recorder(
    settings: RecordSettings,
    on_ready: Callable[[Listening], None],
    on_tick: Callable[[Snapshot], None] = lambda _snapshot: None,
) -> RecordTotals:
    """Needs the main thread. InputError for an unusable port, upstream, file or directory. `on_tick` is called once
    a second. SIGUSR1 pauses recording and SIGUSR2 resumes it, while traffic goes on."""

    async def run() -> RecordTotals:
        stop, hurry = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def heard_signal() -> None:
            (hurry if stop.is_set() else stop).set()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, heard_signal)

        def on_start(listening: Listening, crew: _Crew) -> None:
            loop.add_signal_handler(signal.SIGUSR1, lambda: crew.pause(paused=True))
            loop.add_signal_handler(signal.SIGUSR2, lambda: crew.pause(paused=False))
            tune_process()
            on_ready(listening)

        return await _record(settings, on_start, on_tick, stop, hurry)

    return asyncio.run(run())


def start_recorder(settings: RecordSettings) -> RunningRecorder:
    """Returns when it listens; errors as `run_recorder`. No signals are handled."""
    ready: Future[tuple[Listening, _Crew, Callable[[], None]]] = Future()
    totals: Future[RecordTotals] = Future()

    async def run() -> RecordTotals:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()

        def release() -> None:
            loop.call_soon_threadsafe(stop.set)

        def on_start(listening: Listening, crew: _Crew) -> None:
            ready.set_result((listening, crew, release))

        return await _record(settings, on_start, lambda _snapshot: None, stop, asyncio.Event())

    def work() -> None:
        try:
            totals.set_result(asyncio.run(run()))
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits
            (totals if ready.done() else ready).set_exception(error)

    threading.Thread(target=work, name="agentreel-recorder", daemon=True).start()
    listening, crew, release = ready.result()

    def stop() -> RecordTotals:
        if not totals.done():
            release()
        return totals.result()

    return RunningRecorder(listening, crew, stop)


async def _record(
    settings: RecordSettings,
    on_start: Callable[[Listening, _Crew], None],
    on_tick: Callable[[Snapshot], None],
    stop: asyncio.Event,
    hurry: asyncio.Event,
) -> RecordTotals:
    from proxy.status_server import StatusServer

    checked = check_settings(settings)
    with contextlib.ExitStack() as held:
        sockets = _bind_all(settings, held)
        ports = {name: port_of(bound) for name, bound in sockets.items()}
        crew = await _start_crew(settings, checked, sockets)
        try:
            status = StatusServer(crew.snapshot, lambda paused: crew.pause(paused=paused))
            status_port = None
            if settings.status_port is not None:
                status_port = await status.start(bind(_LOOPBACK, settings.status_port))
            try:
                on_start(_listening(settings, ports, status_port), crew)
                await _wait(stop, lambda: on_tick(crew.snapshot()))
            finally:
                await status.stop()
        finally:
            await crew.stop(hurry)
        return totals_of(crew.snapshot())


def _bind_all(settings: RecordSettings, held: contextlib.ExitStack) -> dict[str, socket.socket]:
    wanted = {
        "anthropic": (settings.host, settings.anthropic_port),
        "openai": (settings.host, settings.openai_port),
    }
    if settings.forward_port is not None:
        wanted["forward"] = (_LOOPBACK, settings.forward_port)
    take = bind if settings.workers == 1 else reserve
    return {name: held.enter_context(take(*place)) for name, place in wanted.items()}


async def _start_crew(settings: RecordSettings, checked: Checked, sockets: dict[str, socket.socket]) -> _Crew:
    from proxy.engine import Engine, steady_clock  # mitmproxy takes most of a second to import
    from proxy.listeners import UpstreamTls
    from proxy.workers import Workers

    if settings.workers == 1:
        engine = Engine(settings, checked, "w0")
        await engine.start(sockets)  # type: ignore[arg-type]  # the names are listeners
        return engine
    UpstreamTls(checked.ca_folder)  # the authority is made once, before workers look for it
    hosts = {"forward": _LOOPBACK}
    ports = {name: (hosts.get(name, settings.host), port_of(bound)) for name, bound in sockets.items()}
    workers = Workers(settings, ports, steady_clock())
    try:
        await workers.start()
    except BaseException:
        await workers.stop(asyncio.Event())
        raise
    return workers


async def _wait(stop: asyncio.Event, tick: Callable[[], None]) -> None:
    while not stop.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _TICK_S)
        tick()


def _listening(settings: RecordSettings, ports: dict[str, int], status_port: int | None) -> Listening:
    shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    scheme = "http" if settings.tls_cert is None else "https"
    forward = ports.get("forward")
    return Listening(
        anthropic_url=f"{scheme}://{shown}:{ports['anthropic']}{BASE_PATH['anthropic']}",
        openai_url=f"{scheme}://{shown}:{ports['openai']}{BASE_PATH['openai']}",
        forward_url=None if forward is None else f"http://{_LOOPBACK}:{forward}",
        status_url=None if status_port is None else f"http://{_LOOPBACK}:{status_port}",
    )
