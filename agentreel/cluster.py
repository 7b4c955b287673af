"""The same tasks on a Dask cluster: submit every task, hand back what completes, let the scheduler mend what dies.

Dask's scheduler gives the tasks out in their order and repeats those of a worker that died. It blames every task that
the worker had been given, so a task that comes to more deaths than the scheduler allows
(`distributed.scheduler.allowed-failures`) is tried once more, alone, when the others are done: only what kills workers
by itself is poison. What a task raises never travels: only its kind and place does, so that neither the scheduler's
logs nor its pages show a word of what was read. Workers need this version of agentreel and, under the same paths, the
captures and the folder of the corpus.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from agentreel.workers import Outcome, attempt
from corpus.errors import AgentreelError, InputError

_ANSWER_WITHIN_S: Final = 30
_OPTION: Final = "--dask"
_LOGGERS: Final = ("distributed", "distributed.client")
_ONE_AT_A_TIME: Final = threading.Lock()


class DaskCluster:
    """`address` as Dask takes it, such as tcp://127.0.0.1:8786; InputError when no scheduler or no worker is there."""

    def __init__(self, address: str) -> None:
        self._address = address

    def run[Task, Result](self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Outcome[Result]]:
        with _quiet():
            client = self._connect()
            try:
                blamed = []
                for outcome in self._completed(client, work, tasks, range(len(tasks))):
                    if outcome.attempts > 1:
                        blamed.append(outcome.task)
                    else:
                        yield outcome
                for number in blamed:
                    yield from self._completed(client, work, tasks, [number])
            finally:
                client.close()  # what is not done is cancelled with it

    def _completed(
        self, client: Any, work: Callable[[Any], Any], tasks: Sequence[Any], numbers: Iterable[int]
    ) -> Iterator[Outcome[Any]]:
        """Of the tasks with these numbers, given out in this order."""
        from distributed import as_completed

        run = secrets.token_hex(8)  # two builds on one cluster share no task
        known = {f"agentreel-{run}-{number}": number for number in numbers}
        if known:
            given = [tasks[number] for number in known.values()]
            futures = client.map(partial(_attempt, work), given, key=list(known), pure=False)
            for future in as_completed(futures, loop=client.loop, raise_errors=False):
                yield self._outcome(future, known[str(future.key)])
                future.release()

    def _connect(self) -> Any:
        try:
            from distributed import Client
        except ImportError as error:
            hint = "pip install 'agentreel[dask]'"
            raise InputError(_OPTION, "needs the package `distributed`, which is not installed", hint) from error
        try:
            client = Client(self._address, timeout=_ANSWER_WITHIN_S, set_as_default=False)
        except (OSError, ValueError) as error:
            hint = "start `dask scheduler`, and give the address it prints"
            raise InputError(_OPTION, f"no Dask scheduler answers at {self._address}", hint) from error
        try:
            self._check_workers(client)
        except InputError:
            client.close()
            raise
        return client

    def _check_workers(self, client: Any) -> None:
        try:
            client.wait_for_workers(1, timeout=_ANSWER_WITHIN_S)
        except TimeoutError as error:
            raise InputError(
                _OPTION, f"the scheduler at {self._address} has no worker", "start `dask worker`"
            ) from error
        if any(threads > 1 for threads in client.nthreads().values()):
            problem = f"workers of {self._address} have several threads, of which a build can use one"
            raise InputError(_OPTION, problem, "start them with `dask worker --nworkers=-1 --nthreads 1`")

    def _outcome(self, future: Any, number: int) -> Outcome[Any]:
        """Waits again where the result was lost with its worker before it came here; then the task is repeated."""
        from distributed import KilledWorker

        try:
            result, failure, is_fatal = future.result()
        except KilledWorker as error:
            deaths = error.allowed_failures + 1
            return Outcome(number, None, f"its worker died {deaths} times, with no other task at hand", deaths)
        except CancelledError as error:
            gone = f"the scheduler at {self._address} went away; build again: what is done is kept"
            raise AgentreelError(gone) from error
        except Exception as error:
            unfit = f"a worker could not take up a task ({type(error).__name__}); is agentreel installed there?"
            raise AgentreelError(unfit) from error
        if is_fatal:
            raise AgentreelError(failure)
        return Outcome(number, result, failure, 1)


def _attempt(work: Callable[[Any], Any], task: Any) -> tuple[Any, str, bool]:
    """Tasks share what a process has opened; workers that joined later may have several threads."""
    with _ONE_AT_A_TIME:
        return attempt(work, task)


@contextmanager
def _quiet() -> Iterator[None]:
    """The library tells a lost connection with a stack trace; here it is an error of one line."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
