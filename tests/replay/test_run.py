"""Whole replays over loopback, judged from the files they leave."""

from __future__ import annotations

import asyncio
import os
import queue
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import replay.content_pool
from corpus.errors import AgentreelError, InputError, OutputExistsError
from corpus.run import is_run, read_run
from corpus.server_metrics import read_server_metrics
from corpus.session import Session
from replay.fidelity import judge
from replay.progress import Progress
from replay.run import run_replay
from replay.settings import ReplaySettings
from tests.replay.loopback import Server, refusal, serving
from tests.replay.rehearsal import Asked, WordTokenizer, edge, session_of


@pytest.fixture(autouse=True)
def _words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay.content_pool, "load_tokenizer", lambda _name, **_how: WordTokenizer())


@contextmanager
def served(server: Server) -> Iterator[Server]:
    """The server on an event loop of its own, as a real one is."""
    ready: queue.SimpleQueue[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = queue.SimpleQueue()

    async def serve() -> None:
        over = asyncio.Event()
        async with serving(server):
            ready.put((asyncio.get_running_loop(), over))
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    loop, over = ready.get(timeout=20)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(timeout=20)


def tree(number: int) -> Session:
    """A main agent that spawns a sub-agent and waits for it, with a title beside."""
    asked = [
        Asked(0, 1, (1, 2), input_tokens=150),
        Asked(0.2, 0.6, (50,), purpose="title"),
        Asked(1.5, 2, (80, 81), agent=1),
        Asked(3, 4, (80, 81, 82), agent=1),
        Asked(5, 6, (1, 2, 3, 4), input_tokens=300),
        Asked(7, 8, (1, 2, 3, 4, 5)),
    ]
    edges = [
        edge(0, 1, 0.2, anchor="start", kind="aux"),
        edge(0, 2, 0.5, kind="spawn"),
        edge(2, 3, 1),
        edge(0, 4, 4),
        edge(3, 4, 1, kind="join"),
        edge(4, 5, 1),
    ]
    return session_of(asked, edges, number)


def settings(server: Server, out: Path, **changes: Any) -> ReplaySettings:
    values: dict[str, Any] = {"warmup": "none", "speedup": 50, "fingerprint": "f00d", "labels": {"gpu": "none"}}
    return ReplaySettings(**{"url": server.url, "model": "m", "out": out, "tokenizer": "words", **values, **changes})


def quiet(_progress: Progress) -> None:
    return None


def test_whole_sessions_are_replayed_to_the_token_and_without_a_violated_edge(tmp_path: Path) -> None:
    heard: list[Progress] = []
    with served(Server()) as server:
        summary = run_replay([tree(0), tree(1)], settings(server, tmp_path / "run", concurrency=2), heard.append)
    run = read_run(tmp_path / "run")
    assert run.summary == summary
    assert (summary["requests"], summary["errors"], summary["sessions_completed"]) == (12, 0, 2)
    assert summary["token_error"] == {"p50": 0, "p99": 0, "max": 0}
    assert (summary["edges"], summary["edge_violations"], summary["early_roots"]) == (12, 0, 0)
    assert summary["cache_hit_rate"] == summary["predicted_hit_rate"]
    assert (summary["corpus_fingerprint"], summary["seed"], summary["dropped_share"]) == ("f00d", 42, 0.0)
    assert summary["warnings"] == {}
    assert judge(run.requests).edge_violations == 0
    assert run.config["labels"] == {"gpu": "none"}
    assert [row.sent_us for row in run.requests] == sorted(row.sent_us or 0 for row in run.requests)
    assert (heard[-1].ended, heard[-1].in_flight, heard[-1].sessions_completed) == (12, 0, 2)


def test_predicted_and_server_cached_tokens_agree_request_by_request(tmp_path: Path) -> None:
    with served(Server()) as server:
        run_replay([tree(0)], settings(server, tmp_path / "run"), quiet)
    rows = read_run(tmp_path / "run").requests
    assert [row.cached_tokens for row in rows] == [row.predicted_cached_tokens for row in rows]
    assert sum(row.cached_tokens or 0 for row in rows) == 64 * (2 + 2 + 4)


def test_same_seed_sends_the_same_bytes(tmp_path: Path) -> None:
    prompts = []
    for name in ("a", "b"):
        with served(Server()) as server:
            run_replay([tree(0)], settings(server, tmp_path / name), quiet)
        prompts.append(sorted(str(body["prompt"]) for body in server.bodies))
    assert prompts[0] == prompts[1]


def test_steady_run_warms_up_recycles_and_ends_on_time(tmp_path: Path) -> None:
    with served(Server()) as server:
        asked = settings(server, tmp_path / "run", warmup="steady", concurrency=2, duration_s=0.5, speedup=500)
        summary = run_replay([tree(0)], asked, quiet)
    run = read_run(tmp_path / "run")
    assert summary["warmup_requests"] >= 20
    assert summary["duration_s"] == pytest.approx(0.5, abs=0.4)
    assert summary["sessions_completed"] >= 2
    assert (summary["edge_violations"], summary["early_roots"], summary["token_error"]["max"]) == (0, 0, 0)
    assert len({row.play for row in run.requests}) > 2
    openings = {tuple(body["prompt"][:64]) for body in server.bodies if len(body["prompt"]) == 320}
    plays = {row.play for row in run.requests if row.planned_input_tokens == 320 and row.error != "cut"}
    assert len(openings) >= len(plays)


def test_chat_counts_the_words_that_were_planned(tmp_path: Path) -> None:
    with served(Server()) as server:
        summary = run_replay([tree(0)], settings(server, tmp_path / "run", endpoint="chat"), quiet)
    assert summary["token_error"]["max"] == 0
    assert summary["warnings"] == {"no_cached_tokens": 6}


def test_server_without_usage_is_a_counted_warning(tmp_path: Path) -> None:
    with served(Server(usage=False)) as server:
        summary = run_replay([tree(0)], settings(server, tmp_path / "run"), quiet)
    assert (summary["errors"], summary["warnings"]["no_usage"]) == (0, 6)
    assert summary["token_error"]["max"] is None


def test_errors_are_counted_and_do_not_stop_the_session(tmp_path: Path) -> None:
    async def refuse_long(_server: Server, _request: object, body: dict[str, Any]) -> Any:
        return refusal(400, "maximum context length is 200 tokens") if len(body["prompt"]) > 200 else None

    with served(Server(misbehave=refuse_long)) as server:
        summary = run_replay([tree(0)], settings(server, tmp_path / "run"), quiet)
    assert summary["errors_by_class"] == {"context_overflow": 2}
    assert (summary["sessions_completed"], summary["edge_violations"]) == (1, 0)


def test_dropped_requests_are_bridged_and_their_share_is_told(tmp_path: Path) -> None:
    with served(Server()) as server:
        summary = run_replay([tree(0)], settings(server, tmp_path / "run", max_context=310), quiet)
    assert (summary["requests"], summary["dropped_requests"]) == (5, {"over_context": 1})
    assert summary["dropped_share"] == pytest.approx(1 / 6)
    assert summary["edge_violations"] == 0


def test_unreachable_server_is_one_line_before_anything_is_read_or_written(tmp_path: Path) -> None:
    unread = (pytest.fail("a session was read") for _ in range(1))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        server = Server(url=f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(InputError, match="cannot reach the server") as caught:
            run_replay(unread, settings(server, tmp_path / "run"), quiet)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_wrong_model_is_told_in_the_servers_own_words(tmp_path: Path) -> None:
    with served(Server()) as server, pytest.raises(InputError, match=r"HTTP 404\): The model `x` does not exist"):
        run_replay([tree(0)], settings(server, tmp_path / "run", model="x"), quiet)


def test_existing_output_is_refused_before_the_server_is_asked(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with served(Server()) as server:
        with pytest.raises(OutputExistsError):
            run_replay([tree(0)], settings(server, tmp_path / "run"), quiet)
        assert server.bodies == []


@pytest.mark.parametrize(("sessions", "said"), [([], "no request is left"), ([tree(0), tree(0)], "the same number")])
def test_unusable_sessions_are_an_input_error(tmp_path: Path, sessions: list[Session], said: str) -> None:
    with served(Server()) as server, pytest.raises(InputError, match=said):
        run_replay(sessions, settings(server, tmp_path / "run"), quiet)


def interrupting(after: int) -> Callable[..., Any]:
    """Presses Ctrl-C when that many requests came in, and answers no more."""

    async def misbehave(server: Server, _request: object, _body: object) -> None:
        if len(server.bodies) > after:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.Event().wait()

    return misbehave


def test_interrupt_leaves_a_valid_run_of_what_was_done(tmp_path: Path) -> None:
    with served(Server(misbehave=interrupting(after=3))) as server:
        summary = run_replay([tree(0)], settings(server, tmp_path / "run"), quiet)
    assert is_run(tmp_path / "run")
    run = read_run(tmp_path / "run")
    assert summary["interrupted"]
    assert summary["unfinished"] >= 1
    assert summary["requests"] == 2 - (summary["unfinished"] - 1)
    assert [row.error for row in run.requests].count("cut") == summary["unfinished"]


METRICS = 'vllm:prompt_tokens_total{engine="0"} 7\nvllm:num_requests_running 1\nDCGM_FI_DEV_POWER_USAGE{gpu="0"} 300\n'


def test_metrics_of_the_server_go_into_the_run_and_its_summary(tmp_path: Path) -> None:
    with served(Server(metrics=METRICS)) as server:
        asked = settings(
            server,
            tmp_path / "run",
            metrics_urls=(server.url, "http://127.0.0.1:9/metrics"),
            labels={"chips": "2"},
            price=3.6,
        )
        summary = run_replay([tree(0)], asked, quiet)
    samples = read_server_metrics(tmp_path / "run")
    assert {sample.name for sample in samples} == {"prompt_tokens", "running", "power_w"}
    good, bad = summary["server"]["sources"].values()
    assert (good["failures"], bad["failures"] == bad["scrapes"] > 0) == (0, True)
    profile = summary["server"]["profile"]
    assert profile["power_w"] == {"mean": 300, "max": 300}
    assert summary["energy_j"] == pytest.approx(300 * summary["duration_s"], rel=0.01)
    assert summary["joules_per_output_token"] == pytest.approx(summary["energy_j"] / summary["output_tokens"])
    assert summary["usd_per_million_output_tokens"] == pytest.approx(
        2 * 3.6 / 3600 * summary["duration_s"] / summary["output_tokens"] * 1e6
    )


def test_a_run_that_was_not_asked_for_metrics_has_none(tmp_path: Path) -> None:
    with served(Server()) as server:
        summary = run_replay([tree(0)], settings(server, tmp_path / "run"), quiet)
    assert summary["server"] is None
    assert not (tmp_path / "run" / "server.parquet").exists()


def test_the_engine_is_the_one_the_server_names_and_its_limit_is_told(tmp_path: Path) -> None:
    models = {"data": [{"id": "m", "owned_by": "sglang", "max_model_len": 301}]}
    with served(Server(models=models)) as server:
        summary = run_replay([tree(0)], settings(server, tmp_path / "run", hints=frozenset({"pin"})), quiet)
    assert (summary["engine"], summary["server_context_tokens"]) == ("sglang", 301)
    assert summary["warnings"]["more_tokens_than_the_server_takes"] == 2
    keys = {headers.get("X-SMG-Routing-Key") for headers in server.headers[1:]}
    assert len(keys) == 3  # the main agent, its sub-agent, the title
    assert {"x-agentreel-pin"} <= {name.lower() for headers in server.headers for name in headers}


def test_where_a_tasks_time_went_adds_up(tmp_path: Path) -> None:
    with served(Server()) as server:
        summary = run_replay([tree(0)], settings(server, tmp_path / "run"), quiet)
    found = summary["critical_path_shares"]
    assert sum(found[name] for name in ("tools", "client", "first_token", "decode")) == pytest.approx(1)
    assert summary["task_time_s"]["p50"] > 0
    assert summary["critical_path_slowdown"]["p50"] > 0


@pytest.mark.parametrize("place", ["RowLog.add", "write_run"])
def test_full_disk_is_one_line_and_leaves_no_run(tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"replay.run.{place}" if place == "write_run" else f"replay.shift.{place}", full)
    with served(Server()) as server, pytest.raises(AgentreelError, match=r"cannot be written.*No space left"):
        run_replay([tree(0)], settings(server, tmp_path / "run"), quiet)
    assert list(tmp_path.iterdir()) == []
