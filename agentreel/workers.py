"""Independent tasks on processes of this machine: every task ends with a result or with the reason why there is none.

`Runner` is the seam. What a build needs of it is little: call `work` on each task somewhere, hand back each outcome as
it comes, in any order, and survive the death of whoever worked on it. `agentreel.cluster` is one more class with this
method; nothing else has to know. Tasks and results are small and picklable.

A worker that dies (killed, out of memory, crashed in foreign code) costs one attempt of the task that it held and
nothing of the others: a new worker takes it up again. Three deaths make it a poison task, which is reported, not tried
again. A task that raises is reported at once, since it would raise again; a person's mistake (`AgentreelError`) ends
the run, since it would stop every other task too.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final, Protocol

from corpus.errors import AgentreelError

MAX_DEATHS: Final = 3
_STARTED: Final = "started"
# Captured bytes (compressed, some sixty times smaller than what was sent) that take longer to work on than a process
# takes to start and to load a tokenizer, 2 s of processor time.
_WORTH_A_PROCESS: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Outcome[Result]:
    task: int  # index of the task
    result: Result | None
    failure: str  # why there is no result, content-free; "" with one
    attempts: int


class Runner(Protocol):
    def run[Task, Result](self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Outcome[Result]]: ...


def choose_runner(workers: int | None, tasks: int, captured_bytes: int) -> Runner:
    """`workers` processes; None: one per core, as far as there is work for each, and none when that is very little."""
    if workers is None:
        worth = captured_bytes // _WORTH_A_PROCESS
        workers = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, worth)
    return WorkerProcesses(min(workers, max(tasks, 1))) if workers else InThisProcess()


class InThisProcess:
    """One task after the other, here: for work so small that starting a process would take longer."""

    def run[Task, Result](self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Outcome[Result]]:
        for number, task in enumerate(tasks):
            result, failure, is_fatal = attempt(work, task)
            if is_fatal:
                raise AgentreelError(failure)
            yield Outcome(number, result, failure, 1)


class WorkerProcesses:
    """Up to `workers` fresh processes; tasks are handed out one by one, in their order."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def run[Task, Result](self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Outcome[Result]]:
        team: dict[Connection, _Worker] = {}
        waiting = deque(range(len(tasks)))
        deaths: Counter[int] = Counter()
        try:
            while waiting or any(worker.task is not None for worker in team.values()):
                while waiting and len(team) < self._workers:
                    worker = _Worker(work)
                    team[worker.pipe] = worker
                for worker in team.values():
                    if worker.task is None and waiting:
                        worker.give(waiting.popleft(), tasks)
                for pipe in wait([pipe for pipe, worker in team.items() if worker.task is not None]):
                    assert isinstance(pipe, Connection)
                    outcome = _heard(team, pipe, deaths)
                    if outcome is not None and outcome.attempts:
                        yield outcome
                    elif outcome is not None:
                        waiting.appendleft(outcome.task)
        finally:
            for worker in team.values():
                worker.stop()


class _Worker:
    """One child process and the task that it holds."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        context = multiprocessing.get_context("spawn")  # a forked copy would inherit the threads of others half-way
        self.pipe, end = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(end, work), daemon=True)
        self.process.start()
        end.close()
        self.task: int | None = None
        self.has_started = False

    def give(self, number: int, tasks: Sequence[Any]) -> None:
        self.task = number
        with contextlib.suppress(OSError):  # it died before; reading its pipe will say so
            self.pipe.send((number, tasks[number]))

    def stop(self) -> None:
        self.pipe.close()
        self.process.terminate()
        self.process.join()


def _heard(team: dict[Connection, _Worker], pipe: Connection, deaths: Counter[int]) -> Outcome[Any] | None:
    """What a worker says; of a dead one a failure, with 0 attempts where the task is to be repeated."""
    worker = team[pipe]
    number = worker.task
    assert number is not None
    try:
        message = pipe.recv()
    except (EOFError, OSError):
        del team[pipe]
        worker.stop()
        if not worker.has_started:
            raise AgentreelError("a worker process could not start; build with --workers 0 to see why") from None
        deaths[number] += 1
        ended = f"its worker process died {deaths[number]} times, last with exit code {worker.process.exitcode}"
        return Outcome(number, None, ended, deaths[number] if deaths[number] >= MAX_DEATHS else 0)
    if message == _STARTED:
        worker.has_started = True
        return None
    result, failure, is_fatal = message
    worker.task = None
    if is_fatal:
        raise AgentreelError(failure)
    return Outcome(number, result, failure, deaths[number] + 1)


def _serve(pipe: Connection, work: Callable[[Any], Any]) -> None:
    """A worker's life: it ends when the other end of the pipe is gone; Ctrl-C is for the one who started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe.send(_STARTED)
    while True:
        try:
            _, task = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            pipe.send(attempt(work, task))
        except OSError:
            return


def attempt[Task, Result](work: Callable[[Task], Result], task: Task) -> tuple[Result | None, str, bool]:
    """(result, failure, does it end the run): no error leaves with its words, which may quote what was being read."""
    try:
        return work(task), "", False
    except AgentreelError as error:
        return None, str(error), True
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told, and the next task comes
        return None, _place_of(error), False


def _place_of(error: BaseException) -> str:
    """Kind and place of an error."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"
