"""Several recorder processes on the same ports, for more streams than one core carries.

The kernel spreads connections over them; each writes segments of its own, so they never wait for each other, and
reading merges by session. A worker that dies is replaced and counted: the ports stay reserved here, other workers go
on, and what the dead one had in flight is found as `unknown`. Workers end when this process does, however it does.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Final, Literal

from corpus.errors import InputError
from proxy.settings import RecordSettings, check_settings
from proxy.sockets import bind
from proxy.totals import Snapshot, merged
from proxy.tuning import tune_process

Order = Literal["pause", "resume", "stop", "hurry"]
Ports = Mapping[str, tuple[str, int]]  # listener -> host and port

_REPORT_S: Final = 0.5
_RESTART_S: Final = 1.0  # so that a worker that can't live doesn't take the machine with it
_DIED: Final = "a worker ended unexpectedly and was started again"

_spawn = multiprocessing.get_context("spawn")


class Workers:
    """`ports` are reserved and stay so until after `stop`."""

    def __init__(self, settings: RecordSettings, ports: Ports, clock: Callable[[], int]) -> None:
        self._members = [_Member(settings, ports, f"w{number}") for number in range(settings.workers)]
        self._clock = clock
        self._past = Snapshot(paused=True, workers=0)  # what dead workers had counted, and their number
        self._paused = False
        self._stopping = False

    async def start(self) -> None:
        """InputError when a worker refuses to start."""
        await asyncio.gather(*(self._launch(member) for member in self._members))

    async def stop(self, hurry: asyncio.Event) -> None:
        self._stopping = True
        for member in self._members:
            member.order("stop")
        hurrying = asyncio.ensure_future(self._pass_on(hurry))
        await asyncio.gather(*(member.gone.wait() for member in self._members))
        hurrying.cancel()
        for member in self._members:
            await asyncio.to_thread(member.process.join)

    def pause(self, *, paused: bool) -> None:
        self._paused = paused
        for member in self._members:
            member.order("pause" if paused else "resume")

    def snapshot(self) -> Snapshot:
        return replace(merged((self._past, *(member.latest for member in self._members))), paused=self._paused)

    async def _launch(self, member: _Member) -> None:
        member.launch(lambda: self._bury(member))
        refusal = await member.ready
        if refusal is not None:
            raise InputError(*refusal)
        if self._paused:
            member.order("pause")

    def _bury(self, member: _Member) -> None:
        if self._stopping or not member.lived:
            return
        sessions = tuple(replace(session, open=0) for session in member.latest.sessions)
        lost = replace(member.latest, open=0, backlog_bytes=0, workers=0, sessions=sessions)
        death = Snapshot(workers=0, counts={"worker_restarts": 1}, last_error=(self._clock(), _DIED))
        self._past = merged((self._past, lost, death))
        member.latest = Snapshot()
        asyncio.get_running_loop().call_later(_RESTART_S, self._replace, member)

    def _replace(self, member: _Member) -> None:
        if self._stopping:
            member.gone.set()
            return
        member.launch(lambda: self._bury(member))
        if self._paused:
            member.order("pause")

    async def _pass_on(self, hurry: asyncio.Event) -> None:
        await hurry.wait()
        for member in self._members:
            member.order("hurry")


class _Member:
    """One worker as its parent sees it."""

    def __init__(self, settings: RecordSettings, ports: Ports, name: str) -> None:
        self._settings = settings
        self._ports = ports
        self._name = name
        self._connection: Connection
        self.process: multiprocessing.process.BaseProcess
        self.latest = Snapshot()
        self.lived = False  # it was ready once: should it die, another takes its place
        self.ready: asyncio.Future[tuple[str, str, str] | None]
        self.gone = asyncio.Event()

    def launch(self, died: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        self.latest = Snapshot()
        self.ready = loop.create_future()
        self.gone.clear()
        self._connection, theirs = _spawn.Pipe()
        arguments = (self._settings, self._ports, self._name, theirs)
        self.process = _spawn.Process(target=work, args=arguments, name=f"agentreel-{self._name}", daemon=True)
        self.process.start()
        theirs.close()
        threading.Thread(target=self._listen, args=(self._connection, loop, died), daemon=True).start()

    def order(self, order: Order) -> None:
        with contextlib.suppress(OSError):  # it is gone, which `_listen` notices
            self._connection.send(order)

    def _listen(self, connection: Connection, loop: asyncio.AbstractEventLoop, died: Callable[[], None]) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                loop.call_soon_threadsafe(self._take, connection.recv())
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(self._lose, died)

    def _take(self, message: Snapshot | tuple[str, str, str] | None) -> None:
        if isinstance(message, Snapshot):
            self.latest = message
        elif not self.ready.done():
            self.lived = self.lived or message is None
            self.ready.set_result(message)

    def _lose(self, died: Callable[[], None]) -> None:
        if not self.ready.done():
            self.ready.set_result((self._name, "a worker did not start", "look at the messages above"))
        self.gone.set()
        died()


def work(settings: RecordSettings, ports: Ports, name: str, parent: Connection) -> None:
    """A worker process, from start to end. Ctrl-C reaches it too, and is its parent's to answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(_work(settings, ports, name, parent))


async def _work(settings: RecordSettings, ports: Ports, name: str, parent: Connection) -> None:
    from proxy.engine import Engine

    try:
        engine = Engine(settings, check_settings(settings), name)
        await engine.start({listener: bind(*place, shared=True) for listener, place in ports.items()})  # type: ignore[misc]  # names are listeners
    except InputError as error:
        parent.send((error.where, error.problem, error.hint))
        return
    stop, hurry = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)

    def obey() -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                loop.call_soon_threadsafe(follow, parent.recv())
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(stop.set)  # the parent is gone

    def follow(order: Order) -> None:
        if order in ("pause", "resume"):
            engine.pause(paused=order == "pause")
        else:
            (stop if order == "stop" else hurry).set()

    threading.Thread(target=obey, daemon=True).start()
    tune_process()
    parent.send(None)
    while not stop.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _REPORT_S)
        _report(parent, engine.snapshot())
    await engine.stop(hurry)
    _report(parent, engine.snapshot())


def _report(parent: Connection, snapshot: Snapshot) -> None:
    with contextlib.suppress(OSError):
        parent.send(snapshot)
