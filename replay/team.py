"""Worker processes that share a run's lanes, and the one who keeps them together.

A worker gets its `Share` at birth, says when it is ready, and begins with all others. At the end of each stage of
warm-up it waits until the last one is through. Failures are judged here, over the requests of all. When too many
failed, or a worker dies, or is stuck, the run ends for all: what was measured up to then is kept. Workers that nobody
keeps together any more stop by themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Final, Literal

from corpus.errors import AgentreelError
from replay.commands import StopReason
from replay.connection import Clock
from replay.progress import Tally
from replay.shift import Share, Shift, Worked
from replay.tolerance import Tolerance

_TELL_EVERY_S: Final = 0.5
_STOP_WITHIN_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Ready:
    pass


@dataclass(frozen=True, slots=True)
class Through:
    """With a stage of warm-up."""

    stage: str


@dataclass(frozen=True, slots=True)
class Failed:
    why: str


@dataclass(frozen=True, slots=True)
class Order:
    """To a worker."""

    what: Literal["begin", "proceed", "stop"]
    at_us: int = 0


@dataclass(frozen=True, slots=True)
class TeamWork:
    worked: tuple[Worked, ...]  # of the workers that lived to say so
    problem: str  # why the run ended before its schedule; "" when it did not
    reason: StopReason | None = None  # of the schedule, where that is what the problem is


Said = Ready | Through | Tally | Worked | Failed


class Team:
    """`run` once. `hear` gets every worker's tallies; `is_stopped` is asked twice a second."""

    def __init__(
        self,
        shares: Sequence[Share],
        failure_share: float,
        hear: Callable[[int, Tally], None],
        is_stopped: Callable[[], bool],
    ) -> None:
        context = multiprocessing.get_context("spawn")  # a forked copy would inherit the threads of others half-way
        self._clock = Clock(shares[0].origin_ns)
        self._hear = hear
        self._is_stopped = is_stopped
        self._pipes: dict[Connection, int] = {}
        self._processes = []
        for number, share in enumerate(shares):
            pipe, end = context.Pipe()
            process = context.Process(target=_serve, args=(end, share), daemon=True)
            process.start()
            end.close()
            self._pipes[pipe] = number
            self._processes.append(process)
        self._ready: set[int] = set()
        self._through: dict[str, set[int]] = {}
        self._worked: list[Worked] = []
        self._problem = ""
        self._reason: StopReason | None = None
        self._tolerance = Tolerance(failure_share)
        self._stop_by_s: float | None = None

    def run(self) -> TeamWork:
        try:
            while self._pipes:
                for pipe in wait(list(self._pipes), _TELL_EVERY_S):
                    assert isinstance(pipe, Connection)
                    self._listen(pipe)
                if self._is_stopped():
                    self._stop("")
                if self._stop_by_s is not None and time.monotonic() > self._stop_by_s:
                    break  # whoever does not hear is ended below
        finally:
            for process in self._processes:
                process.terminate()
                process.join()
        return TeamWork(tuple(self._worked), self._problem, self._reason)

    def _listen(self, pipe: Connection) -> None:
        number = self._pipes[pipe]
        try:
            said: Said = pipe.recv()
        except (EOFError, OSError):
            self._leave(pipe)
            self._processes[number].join()
            code = self._processes[number].exitcode
            self._stop(f"worker {number + 1} of {len(self._processes)} died (exit code {code})")
            return
        match said:
            case Tally():
                self._hear(number, said)
                self._judge(said)
            case Ready():
                self._ready.add(number)
                if len(self._ready) == len(self._processes):
                    self._tell(Order("begin"))
            case Through(stage):
                self._gather(stage, number)
            case Worked():
                self._worked.append(said)
                self._leave(pipe)
                if said.done is not None and said.done.reason == "stuck":
                    self._stop(said.done.detail, said.done.reason)
            case Failed(why):
                self._leave(pipe)
                self._stop(why)

    def _gather(self, stage: str, number: int) -> None:
        through = self._through.setdefault(stage, set())
        through.add(number)
        if len(through) == len(self._processes):
            self._tell(Order("proceed", self._clock.now_us()))

    def _leave(self, pipe: Connection) -> None:
        del self._pipes[pipe]
        pipe.close()

    def _judge(self, tally: Tally) -> None:
        for phase, error, count in tally.ended:
            self._tolerance.count(phase, error, count)
        for phase in {phase for phase, _, _ in tally.ended}:
            if (verdict := self._tolerance.verdict(phase)) is not None:
                self._stop(verdict, "failures")

    def _stop(self, why: str, reason: StopReason | None = None) -> None:
        if not self._problem:
            self._problem, self._reason = why, reason
        if self._stop_by_s is None:
            self._stop_by_s = time.monotonic() + _STOP_WITHIN_S
            self._tell(Order("stop"))

    def _tell(self, order: Order) -> None:
        for pipe in self._pipes:
            with contextlib.suppress(OSError):  # it died: reading its pipe will say so
                pipe.send(order)


def _serve(pipe: Connection, share: Share) -> None:
    """A worker's life; Ctrl-C is for the one who started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    said: Said
    try:
        said = asyncio.run(_work(pipe, share))
    except (AgentreelError, OSError) as error:
        said = Failed(str(error))
    with contextlib.suppress(OSError):
        pipe.send(said)


async def _work(pipe: Connection, share: Share) -> Worked:
    shift = Shift(share, lambda stage: pipe.send(Through(stage)))
    begin = asyncio.Event()
    loop = asyncio.get_running_loop()

    def obey() -> None:
        try:
            order: Order = pipe.recv()
        except (EOFError, OSError):
            loop.remove_reader(pipe.fileno())
            order = Order("stop")
        if order.what == "proceed":
            shift.driver.proceed(order.at_us)
            return
        if order.what == "stop":
            shift.driver.stop()
        begin.set()

    loop.add_reader(pipe.fileno(), obey)
    pipe.send(Ready())
    await begin.wait()
    telling = asyncio.ensure_future(_tell(pipe, shift))
    try:
        worked = await shift.run()
    finally:
        telling.cancel()
        loop.remove_reader(pipe.fileno())
    pipe.send(shift.tally())
    return worked


async def _tell(pipe: Connection, shift: Shift) -> None:
    while True:
        pipe.send(shift.tally())
        await asyncio.sleep(_TELL_EVERY_S)
