"""The same tasks on a Dask cluster: submit every task, hand back what completes, let the scheduler mend what dies.

Dask's scheduler gives the tasks out in their order and repeats those of a worker that died. A task that killed as many
workers as the scheduler allows (`distributed.scheduler.allowed-failures`) is poison. What a task raises never travels:
only its kind and place does, so that neither the scheduler's logs nor its pages show a word of what was read. Workers
need this version of agentreel and, under the same paths, the captures and the folder of the corpus.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from agentreel.workers import Outcome, attempt
from corpus.errors import AgentreelError, InputError

_ANSWER_WITHIN_S: Final = 30
_OPTION: Final = "--dask"


class DaskCluster:
    """`address` as Dask takes it, such as tcp://127.0.0.1:8786; InputError when no scheduler or no worker is there."""

    def __init__(self, address: str) -> None:
        self._address = address

    def run[Task, Result](self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Outcome[Result]]:
        from distributed import as_completed

        client = self._connect()
        try:
            run = secrets.token_hex(8)  # two builds on one cluster share no task
            keys = [f"agentreel-{run}-{number}" for number in range(len(tasks))]
            numbers = {key: number for number, key in enumerate(keys)}
            futures = client.map(partial(attempt, work), tasks, key=keys, pure=False) if tasks else []
            for future in as_completed(futures, loop=client.loop, raise_errors=False):
                yield self._outcome(future, numbers[str(future.key)])
                future.release()
        finally:
            client.close()  # what is not done is cancelled with it

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
            client.wait_for_workers(1, timeout=_ANSWER_WITHIN_S)
        except TimeoutError as error:
            client.close()
            raise InputError(
                _OPTION, f"the scheduler at {self._address} has no worker", "start `dask worker`"
            ) from error
        return client

    def _outcome(self, future: Any, number: int) -> Outcome[Any]:
        from distributed import KilledWorker

        if future.status == "finished":
            result, failure, is_fatal = future.result()
            if is_fatal:
                raise AgentreelError(failure)
            return Outcome(number, result, failure, 1)
        error = future.exception() if future.status == "error" else None
        if isinstance(error, KilledWorker):
            deaths = error.allowed_failures + 1
            return Outcome(number, None, f"its worker died {deaths} times", deaths)
        if error is not None:
            raise AgentreelError(
                f"a worker could not take up a task ({type(error).__name__}); is agentreel installed there?"
            )
        raise AgentreelError(f"the scheduler at {self._address} went away; build again: what is done is kept")
