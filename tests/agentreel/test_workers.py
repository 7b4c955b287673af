from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agentreel.workers import MAX_DEATHS, InThisProcess, Runner, WorkerProcesses, choose_runner
from corpus.errors import AgentreelError, InputError


def square(number: int) -> int:
    return number * number


def die_at_first(folder: Path, number: int) -> int:
    """Kills its own process at the first attempt of task 2."""
    seen = folder / str(number)
    if number == 2 and not seen.exists():
        seen.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def die_always(number: int) -> int:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def fail(number: int) -> int:
    if number == 1:
        raise ValueError("words of a prompt")
    return number


def mistake(number: int) -> int:
    raise InputError("/home", f"cannot be used for {number}", "choose another")


class Stillborn:
    """Work that cannot even be unpacked in another process."""

    def __call__(self, number: int) -> int:
        return number

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (3,)


@pytest.fixture(params=[InThisProcess, partial(WorkerProcesses, 2)])
def runner(request: pytest.FixtureRequest) -> Runner:
    make: Callable[[], Runner] = request.param
    return make()


def test_every_task_has_one_outcome(runner: Runner) -> None:
    outcomes = sorted(runner.run(square, [3, 4, 5]), key=lambda one: one.task)
    assert [(one.task, one.result, one.failure, one.attempts) for one in outcomes] == [
        (0, 9, "", 1),
        (1, 16, "", 1),
        (2, 25, "", 1),
    ]


def test_no_task_is_no_outcome(runner: Runner) -> None:
    assert list(runner.run(square, [])) == []


def test_a_task_that_raises_is_named_by_place_and_kind_only_and_the_others_go_on(runner: Runner) -> None:
    outcomes = {one.task: one for one in runner.run(fail, [0, 1, 2])}
    assert [outcomes[n].result for n in (0, 1, 2)] == [0, None, 2]
    assert outcomes[1].failure.startswith("ValueError at test_workers.py:")


def test_a_persons_mistake_ends_the_run_with_its_own_words(runner: Runner) -> None:
    with pytest.raises(AgentreelError, match="/home: cannot be used for 0; choose another"):
        list(runner.run(mistake, [0]))


def test_the_task_of_a_worker_that_dies_is_done_by_another(tmp_path: Path) -> None:
    outcomes = {one.task: one for one in WorkerProcesses(2).run(partial(die_at_first, tmp_path), list(range(5)))}
    assert [outcomes[n].result for n in range(5)] == list(range(5))
    assert outcomes[2].attempts == 2


def test_a_task_that_always_kills_its_worker_is_poison_and_costs_no_other_task() -> None:
    outcomes = {one.task: one for one in WorkerProcesses(2).run(die_always, [0, 1, 2])}
    assert (outcomes[0].result, outcomes[2].result) == (0, 2)
    assert (outcomes[1].result, outcomes[1].attempts) == (None, MAX_DEATHS)
    assert "died 3 times, last with exit code -9" in outcomes[1].failure


def test_workers_that_cannot_start_blame_no_task() -> None:
    with pytest.raises(AgentreelError, match="could not start"):
        list(WorkerProcesses(2).run(Stillborn(), [0, 1, 2]))


@pytest.mark.parametrize(
    ("workers", "tasks", "captured", "expected"),
    [(None, 9, 1000, 0), (0, 9, 1 << 40, 0), (3, 9, 0, 3), (8, 2, 0, 2), (None, 1, 1 << 40, 1)],
)
def test_processes_are_started_as_far_as_there_is_work(
    workers: int | None, tasks: int, captured: int, expected: int
) -> None:
    runner = choose_runner(workers, tasks, captured)
    assert (runner._workers if isinstance(runner, WorkerProcesses) else 0) == expected
