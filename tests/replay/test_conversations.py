"""Whole replays against the stand-in engine, whose chat template adds tokens: all that is known is its counts."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from corpus.run import Run, read_run
from corpus.session import Role, Session
from corpus.tokenizer import load_tokenizer
from replay.endpoints import ENDPOINTS, EndpointName
from replay.run import run_replay
from replay.settings import ReplaySettings
from standin.engine import EngineSettings, start_engine
from tests.replay.rehearsal import Asked, edge, session_of

TURN: tuple[tuple[Role, int], ...] = (
    ("thinking", 40),
    ("assistant", 30),
    ("tool_call", 50),
    ("tool_call", 45),
    ("tool_result", 300),
    ("tool_result", 77),
    ("reminder", 25),
)


@contextmanager
def serving() -> Iterator[str]:
    ready: queue.SimpleQueue[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = queue.SimpleQueue()

    async def serve() -> None:
        over = asyncio.Event()
        engine = await start_engine(EngineSettings(), load_tokenizer(fast=False))
        ready.put((engine.url, asyncio.get_running_loop(), over))
        await over.wait()
        await engine.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    url, loop, over = ready.get(timeout=60)
    try:
        yield url
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(timeout=20)


def conversation() -> Session:
    """A main agent of four turns and a sub-agent, with tools, thinking and results; each prompt repeats the last."""
    segments: list[tuple[Role, int]] = [("tools", 700), ("system", 333), ("user", 150)]
    asked, blocks = [], 0
    for turn in range(4):
        tokens = sum(count for _, count in segments)
        blocks = tokens // 64
        asked.append(Asked(2 * turn, 2 * turn + 1, tuple(range(1, blocks + 1)), tokens, segments=tuple(segments)))
        segments += TURN
    child: tuple[tuple[Role, int], ...] = (("system", 120), ("user", 90))
    asked.append(Asked(3.2, 3.5, (501, 502, 503), 210, agent=1, segments=child))
    return session_of(asked, [edge(0, 1, 1), edge(1, 2, 1), edge(2, 3, 1), edge(1, 4, 0.1, kind="spawn")])


def replayed(url: str, out: Path, endpoint: EndpointName) -> Run:
    settings = ReplaySettings(url, "standin", out, "deepseek-v4", endpoint=endpoint, warmup="none", speedup=50)
    run_replay([conversation()], settings, lambda _progress: None)
    return read_run(out)


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_the_server_counts_what_was_planned_whatever_its_template_adds(endpoint: EndpointName, tmp_path: Path) -> None:
    with serving() as url:
        run = replayed(url, tmp_path / "run", endpoint)
    assert (run.summary["errors"], run.summary["edge_violations"]) == (0, 0)
    assert [row.measured_input_tokens for row in run.requests] == [row.planned_input_tokens for row in run.requests]
    assert run.config["framing"]["off_by_tokens"] == 0
    assert run.config["framing"]["sent_as_text"] == []
    assert run.summary["predicted_cached_tokens"] > 3000
    assert [row.cached_tokens for row in run.requests] == [row.predicted_cached_tokens for row in run.requests]
