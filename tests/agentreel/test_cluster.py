"""Against a real Dask scheduler with real worker processes on this machine."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="the extra `dask` is not installed")

from distributed import LocalCluster

import agentreel.cluster as cluster_module
from agentreel.building import Done, build_corpus, make_piece, session_tasks
from agentreel.cluster import DaskCluster
from agentreel.pieces import common_key, piece_path, read_piece, work_folder
from agentreel.workers import Outcome
from anonymize.audit.live import key_shows
from corpus.capture.reader import Captures
from corpus.errors import AgentreelError, InputError
from tests.agentreel.building_site import SETTINGS, US, built, bytes_of
from tests.agentreel.test_workers import die_always, die_at_first, fail, mistake, square


def start(workers: int) -> LocalCluster:
    free = "127.0.0.1:0"
    return LocalCluster(n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=free)


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    with start(2) as started:
        yield started.scheduler_address


def test_every_task_has_one_outcome(cluster: str) -> None:
    outcomes = list(DaskCluster(cluster).run(square, range(20)))
    assert sorted((one.task, one.result, one.failure) for one in outcomes) == [(n, n * n, "") for n in range(20)]
    assert list(DaskCluster(cluster).run(square, [])) == []


def test_a_task_that_raises_is_named_by_place_and_kind_only_and_the_others_go_on(cluster: str) -> None:
    outcomes = {one.task: one for one in DaskCluster(cluster).run(fail, range(3))}
    assert (outcomes[0].result, outcomes[2].result) == (0, 2)
    assert outcomes[1].failure.startswith("ValueError at test_workers.py:")


def test_a_persons_mistake_ends_the_run_with_its_own_words(cluster: str) -> None:
    with pytest.raises(AgentreelError, match="cannot be used for"):
        list(DaskCluster(cluster).run(mistake, range(3)))


def test_the_task_of_a_worker_that_dies_is_done_by_another(cluster: str, tmp_path: Path) -> None:
    outcomes = list(DaskCluster(cluster).run(partial(die_at_first, tmp_path), range(4)))
    assert sorted((one.task, one.result) for one in outcomes) == [(n, n) for n in range(4)]


def test_a_task_that_always_kills_its_worker_is_poison_and_costs_no_other_task(cluster: str) -> None:
    outcomes = {one.task: one for one in DaskCluster(cluster).run(die_always, range(4))}
    assert outcomes[1].result is None
    assert outcomes[1].failure == "its worker died 4 times"
    assert {n: one.result for n, one in outcomes.items() if n != 1} == {0: 0, 2: 2, 3: 3}


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_any_number_of_workers_writes_the_same_bytes_as_this_process(
    workers: int, captures: Captures, tmp_path: Path
) -> None:
    with start(workers) as started:
        runner = DaskCluster(started.scheduler_address)
        assert built(captures, tmp_path / "there", runner) == built(captures, tmp_path / "here")


def kill_one(cluster: LocalCluster) -> None:
    """As the system does when memory runs out."""
    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)


def test_a_worker_killed_in_the_middle_changes_no_byte(captures: Captures, tmp_path: Path) -> None:
    with start(2) as started:

        def kill_after_first(outcomes: Iterable[Outcome[Done]], _: int) -> Iterator[Outcome[Done]]:
            for number, outcome in enumerate(outcomes):
                if number == 0:
                    kill_one(started)
                yield outcome

        runner = DaskCluster(started.scheduler_address)
        build_corpus(captures, tmp_path / "there", SETTINGS, runner, created_by=US, watch=kill_after_first)
    assert bytes_of(tmp_path / "there") == built(captures, tmp_path / "here")


def test_what_a_task_takes_and_gives_holds_no_key_and_no_digest_of_what_was_read(
    captures: Captures, tmp_path: Path
) -> None:
    with work_folder(tmp_path / "corpus") as folder:
        for task in session_tasks(captures, folder, SETTINGS):
            done = make_piece(task)
            piece = read_piece(piece_path(folder, task.session_ids))
            assert piece is not None
            travels = pickle.dumps((task, done))
            assert piece.manifest.input.encode() not in travels
            assert not key_shows(common_key(folder), (travels,))
            assert {field.type for field in fields(done)} == {"str", "int", "bool", "tuple[str, ...]"}


def test_workers_that_see_another_disk_are_told_apart_from_poison(captures: Captures, tmp_path: Path) -> None:
    (task, *_) = session_tasks(captures, tmp_path / "nowhere", SETTINGS)
    with pytest.raises(InputError, match="is not there on a worker"):
        make_piece(task)


def test_workers_with_other_code_are_refused(captures: Captures, tmp_path: Path) -> None:
    (task, *_) = session_tasks(captures, tmp_path, SETTINGS)
    with pytest.raises(AgentreelError, match="another version"):
        make_piece(replace(task, code="other"))


def test_no_scheduler_and_no_worker_are_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "_ANSWER_WITHIN_S", 0.5)
    with pytest.raises(InputError, match=r"no Dask scheduler answers at tcp://127.0.0.1:1"):
        list(DaskCluster("tcp://127.0.0.1:1").run(square, [1]))
    with start(0) as started, pytest.raises(InputError, match="has no worker"):
        list(DaskCluster(started.scheduler_address).run(square, [1]))
