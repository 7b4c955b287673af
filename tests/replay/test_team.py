"""Replays by worker processes over loopback: the same requests, one run, and no worker whose end goes unnoticed."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import replay.content_pool
from corpus.run import is_run, read_run
from replay.progress import Progress
from replay.run import run_replay
from tests.replay.loopback import Server, refusal
from tests.replay.rehearsal import WordTokenizer
from tests.replay.test_run import quiet, served, settings, tree


@pytest.fixture(autouse=True)
def _words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay.content_pool, "load_tokenizer", lambda _name, **_options: WordTokenizer())


def prompts(server: Server) -> list[str]:
    return sorted(str(body["prompt"]) for body in server.bodies[1:])


def test_two_workers_send_what_one_sends_and_leave_one_run(tmp_path: Path) -> None:
    sessions = [tree(number) for number in range(4)]
    heard: list[Progress] = []
    sent = []
    for workers in (1, 2):
        with served(Server()) as server:
            asked = settings(server, tmp_path / f"run{workers}", concurrency=2, workers=workers)
            summary = run_replay(sessions, asked, heard.append)
        sent.append(prompts(server))
        assert (summary["requests"], summary["errors"], summary["sessions_completed"]) == (24, 0, 4)
        assert (summary["edge_violations"], summary["token_error"]["max"]) == (0, 0)
    assert sent[0] == sent[1]
    rows = read_run(tmp_path / "run2").requests
    assert [row.sent_us for row in rows] == sorted(row.sent_us or 0 for row in rows)
    assert {row.lane % 2 for row in rows} == {0, 1}
    assert heard[-1].ended == 24
    assert list(tmp_path.glob(".*")) == []


def test_profiling_begins_for_all_workers_at_once(tmp_path: Path) -> None:
    with served(Server()) as server:
        asked = settings(
            server, tmp_path / "run", warmup="steady", concurrency=3, workers=3, duration_s=0.5, speedup=500
        )
        summary = run_replay([tree(0), tree(1)], asked, quiet)
    rows = read_run(tmp_path / "run").requests
    warm = [row.end_us or 0 for row in rows if row.phase == "warmup"]
    assert {row.lane for row in rows if row.phase == "profile"} == {0, 1, 2}
    assert max(warm) <= min(row.sent_us or 0 for row in rows if row.phase == "profile")
    assert summary["edge_violations"] == 0


def killing(after: int) -> Any:
    """Kills one of the workers when that many requests came in, and answers no more."""

    async def misbehave(server: Server, _request: object, _body: object) -> None:
        if len(server.bodies) == after:
            child = multiprocessing.active_children()[0]
            assert child.pid is not None
            os.kill(child.pid, signal.SIGKILL)
        if len(server.bodies) >= after:
            await asyncio.Event().wait()

    return misbehave


def test_worker_that_dies_ends_the_run_with_its_reason_and_leaves_what_was_measured(tmp_path: Path) -> None:
    with served(Server(misbehave=killing(after=6))) as server:
        summary = run_replay(
            [tree(number) for number in range(4)], settings(server, tmp_path / "run", concurrency=2, workers=2), quiet
        )
    assert is_run(tmp_path / "run")
    assert summary["problem"] in ("worker 1 of 2 died (exit code -9)", "worker 2 of 2 died (exit code -9)")
    assert summary["stopped"] == "problem"
    assert {row.error for row in read_run(tmp_path / "run").requests} <= {None, "cut"}


def test_failures_of_one_worker_stop_all_of_them(tmp_path: Path) -> None:
    async def refuse(server: Server, *_: object) -> Any:
        return refusal(500, "no") if len(server.bodies) > 1 else None

    with served(Server(misbehave=refuse)) as server:
        asked = settings(
            server, tmp_path / "run", concurrency=2, workers=2, warmup="steady", failure_share=0.1, duration_s=60
        )
        summary = run_replay([tree(number) for number in range(40)], asked, quiet)
    assert "requests failed" in summary["problem"]
    assert summary["duration_s"] is None or summary["duration_s"] < 30


def test_failures_of_all_workers_are_added_up(tmp_path: Path) -> None:
    """Six failures never stop anybody, and twelve are too many."""

    async def refuse(server: Server, *_: object) -> Any:
        return refusal(500, "no") if len(server.bodies) > 1 else None

    with served(Server(misbehave=refuse)) as server:
        asked = settings(server, tmp_path / "run", concurrency=2, workers=2, failure_share=0.1)
        summary = run_replay([tree(0), tree(1)], asked, quiet)
    assert summary["stopped"] == "failures"
    assert "profiling requests failed" in summary["problem"]


def test_failures_of_one_worker_are_few_beside_what_the_others_did_well(tmp_path: Path) -> None:
    well_done = asyncio.Event()
    answered: list[str] = []

    async def refuse(server: Server, request: web.Request, _body: object) -> Any:
        if len(server.bodies) == 1:
            return None
        play = int(request.headers["x-session-id"].split("-")[2])
        if play % 2:  # the other worker's
            answered.append("well")
            if len(answered) >= 50:
                well_done.set()
            return None
        await well_done.wait()
        return refusal(500, "no") if play < 4 else None

    with served(Server(misbehave=refuse)) as server:
        asked = settings(server, tmp_path / "run", concurrency=2, workers=2, failure_share=0.5)
        summary = run_replay([tree(number) for number in range(20)], asked, quiet)
    assert (summary["stopped"], summary["problem"]) == ("completed", "")
    assert (summary["requests"], summary["errors"]) == (120, 12)


def test_interrupt_reaches_every_worker_and_leaves_a_valid_run(tmp_path: Path) -> None:
    async def interrupt(server: Server, *_: object) -> None:
        if len(server.bodies) == 6:
            os.kill(os.getpid(), signal.SIGINT)
        if len(server.bodies) >= 6:
            await asyncio.Event().wait()

    with served(Server(misbehave=interrupt)) as server:
        asked = settings(server, tmp_path / "run", concurrency=2, workers=2)
        summary = run_replay([tree(number) for number in range(4)], asked, quiet)
    assert (summary["interrupted"], summary["stopped"], summary["problem"]) == (True, "interrupted", "")
    assert is_run(tmp_path / "run")
    assert summary["unfinished"] >= 1
