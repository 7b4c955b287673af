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

import dask
import tokenizers
from distributed import LocalCluster

import agentreel.building as building_module
import agentreel.cluster as cluster_module
from agentreel.building import Done, SessionTask, build_corpus, make_piece, session_tasks
from agentreel.cluster import DaskCluster
from agentreel.pieces import common_key, piece_path, read_piece, work_folder
from agentreel.workers import InThisProcess, Outcome
from anonymize.audit.live import key_shows
from corpus.capture.reader import Captures
from corpus.errors import AgentreelError, InputError
from corpus.tables import read_corpus
from tests.agentreel.building_site import SETTINGS, US, built, bytes_of, record, talk
from tests.agentreel.test_workers import die_always, die_at_first, fail, mistake, square

# A busy disk is no failure; the library warns when making its folders takes a second.
pytestmark = pytest.mark.filterwarnings("ignore:Creating scratch directories")


@pytest.fixture(scope="module", autouse=True)
def quick_starts() -> Iterator[None]:
    """Workers are forked off a process that has loaded Dask already."""
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        yield


def start(workers: int, threads: int = 1) -> LocalCluster:
    free = "127.0.0.1:0"
    return LocalCluster(n_workers=workers, threads_per_worker=threads, host="127.0.0.1", dashboard_address=free)


@pytest.fixture(scope="module")
def cluster(quick_starts: None) -> Iterator[str]:
    with start(2) as started:
        yield started.scheduler_address


@pytest.fixture(scope="module")
def quick_tokenizer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of bytes alone: the default one takes every worker seconds to load."""
    alphabet = {symbol: n for n, symbol in enumerate(sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()))}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=alphabet, merges=[]))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    made.save(str(path))
    return str(path)


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Captures:
    """Twelve sessions of different sizes, the later ones larger."""
    talks = [one for n in range(12) for one in talk(f"s{n}", 100.0 * n, 50 * (n + 1))]
    return record(tmp_path_factory.mktemp("site") / "captures", talks)


@pytest.fixture(scope="module")
def here(captures: Captures, quick_tokenizer: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return built(captures, tmp_path_factory.mktemp("here") / "corpus", tokenizer=quick_tokenizer)


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
    outcomes = {one.task: one for one in DaskCluster(cluster).run(die_always, range(6))}
    assert outcomes[1].result is None
    assert outcomes[1].failure == "its worker died 4 times, with no other task at hand"
    assert {n: one.result for n, one in outcomes.items() if n != 1} == {0: 0, 2: 2, 3: 3, 4: 4, 5: 5}


def note_down(file: Path, number: int) -> int:
    with file.open("a") as lines:
        lines.write(f"{number}\n")
    return number


def test_tasks_are_begun_in_their_order(tmp_path: Path) -> None:
    with start(1) as started:
        list(DaskCluster(started.scheduler_address).run(partial(note_down, tmp_path / "order"), range(25)))
    assert (tmp_path / "order").read_text().split() == [str(n) for n in range(25)]


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_any_number_of_workers_writes_the_same_bytes_as_this_process(
    workers: int, captures: Captures, quick_tokenizer: str, here: dict[str, bytes], tmp_path: Path
) -> None:
    with start(workers) as started:
        runner = DaskCluster(started.scheduler_address)
        assert built(captures, tmp_path / "there", runner, tokenizer=quick_tokenizer) == here


def kill_one(cluster: LocalCluster) -> None:
    """As the system does when memory runs out."""
    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)


def test_a_worker_killed_in_the_middle_changes_no_byte(
    captures: Captures, quick_tokenizer: str, here: dict[str, bytes], tmp_path: Path
) -> None:
    with start(2) as started:

        def kill_after_first(outcomes: Iterable[Outcome[Done]], _: int) -> Iterator[Outcome[Done]]:
            for number, outcome in enumerate(outcomes):
                if number == 0:
                    kill_one(started)
                yield outcome

        settings = replace(SETTINGS, tokenizer=quick_tokenizer)
        runner = DaskCluster(started.scheduler_address)
        build_corpus(captures, tmp_path / "there", settings, runner, created_by=US, watch=kill_after_first)
    assert bytes_of(tmp_path / "there") == here


def make_but_die_of(session: str, task: SessionTask) -> Done:
    if task.session_ids == (session,):
        os.kill(os.getpid(), signal.SIGKILL)
    return make_piece(task)


def test_a_poison_session_is_listed_and_all_others_are_as_without_it(
    cluster: str, captures: Captures, quick_tokenizer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(SETTINGS, tokenizer=quick_tokenizer)
    monkeypatch.setattr(building_module, "make_piece", partial(make_but_die_of, "s7"))
    _, report = build_corpus(captures, tmp_path / "there", settings, DaskCluster(cluster), created_by=US)
    assert [session for session, _ in report.poison] == ["s7"]
    talks = [one for n in range(12) if n != 7 for one in talk(f"s{n}", 100.0 * n, 50 * (n + 1))]
    built(record(tmp_path / "captures", talks), tmp_path / "without", tokenizer=quick_tokenizer)
    assert list(read_corpus(tmp_path / "there")) == list(read_corpus(tmp_path / "without"))


def test_a_scheduler_that_goes_away_is_one_line_and_what_is_done_is_kept(
    captures: Captures, quick_tokenizer: str, here: dict[str, bytes], tmp_path: Path
) -> None:
    target, settings = tmp_path / "corpus", replace(SETTINGS, tokenizer=quick_tokenizer)
    with start(1) as started:

        def stop_after_third(outcomes: Iterable[Outcome[Done]], _: int) -> Iterator[Outcome[Done]]:
            for number, outcome in enumerate(outcomes):
                if number == 2:
                    started.close()
                yield outcome

        runner = DaskCluster(started.scheduler_address)
        with pytest.raises(AgentreelError, match="went away; build again"):
            build_corpus(captures, target, settings, runner, created_by=US, watch=stop_after_third)
    _, report = build_corpus(captures, target, settings, InThisProcess(), created_by=US)
    assert report.resumed >= 2
    assert bytes_of(target) == here


def test_what_a_task_takes_and_gives_holds_no_key_and_no_digest_of_what_was_read(
    captures: Captures, quick_tokenizer: str, tmp_path: Path
) -> None:
    with work_folder(tmp_path / "corpus") as folder:
        for task in session_tasks(captures, folder, replace(SETTINGS, tokenizer=quick_tokenizer)):
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


def test_workers_that_would_run_several_tasks_in_one_process_are_refused() -> None:
    with start(1, threads=2) as started, pytest.raises(InputError, match="--nthreads 1"):
        list(DaskCluster(started.scheduler_address).run(square, [1]))
