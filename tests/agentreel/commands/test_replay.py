from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentreel.process import serve_command
from corpus.run import read_run

Call = Callable[..., Any]
TRACE = Path(__file__).resolve().parents[3].parent / "shared" / "traces" / "weka" / "trace_0277.json"
SUMMARY_KEYS = {
    *("requests", "errors", "duration_s", "ttft_s", "tpot_s", "interactivity_tps", "e2e_normalized_tps"),
    *("input_tokens", "output_tokens", "throughput_tps", "output_tps", "cached_tokens", "cache_hit_rate"),
    *("predicted_hit_rate", "token_error", "lateness_ms", "edge_violations", "sessions_completed", "session_slowdown"),
    *("client_cpu_s", "corpus_fingerprint", "seed", "version"),
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve_command(("standin", "engine", "--json"), tmp_path_factory.mktemp("logs") / "engine.log") as ready:
        yield ready["url"]


@pytest.mark.skipif(not TRACE.exists(), reason="the public WEKA traces are not beside this checkout")
def test_a_public_trace_is_replayed_exactly(agentreel: Call, engine: str, tmp_path: Path) -> None:
    args = ("--warmup", "none", "--speedup", "200", "--json")
    said = agentreel("replay", TRACE, "--url", engine, "--model", "standin", "--out", tmp_path / "run", *args)
    assert said.code == 0
    summary = json.loads(said.out)
    assert summary.keys() >= SUMMARY_KEYS
    assert (summary["requests"], summary["errors"], summary["sessions_completed"]) == (53, 0, 1)
    assert (summary["token_error"]["max"], summary["edge_violations"]) == (0, 0)
    assert summary["edges"] == 56
    assert summary["cache_hit_rate"] > 0.8


def test_chat_sends_text_and_reports_what_the_template_added(
    agentreel: Call, chain: Any, engine: str, tmp_path: Path
) -> None:
    args = ("--endpoint", "chat", "--warmup", "none", "--speedup", "50", "--concurrency", "3", "--label", "chips=1")
    said = agentreel("replay", chain.corpus, "--url", engine, "--model", "standin", "--out", tmp_path / "run", *args)
    assert said.code == 0, said.err
    run = read_run(tmp_path / "run")
    assert run.config["labels"] == {"chips": "1"}
    assert run.summary["errors"] == 0
    assert run.summary["token_error"]["max"] < 1_000
    assert "edges violated          0 of" in said.out


def test_steady_recycles_sessions_until_the_time_is_over(
    agentreel: Call, chain: Any, engine: str, tmp_path: Path
) -> None:
    args = ("--concurrency", "2", "--duration", "3", "--speedup", "10", "--json")
    said = agentreel("replay", chain.corpus, "--url", engine, "--model", "standin", "--out", tmp_path / "run", *args)
    assert said.code == 0
    summary = json.loads(said.out)
    assert summary["warmup_requests"] > 0
    assert summary["edge_violations"] == 0
    phases = {row.phase for row in read_run(tmp_path / "run").requests}
    assert phases == {"warmup", "profile"}


def test_an_unreachable_server_is_one_line_and_leaves_nothing(agentreel: Call, chain: Any, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    said = agentreel("replay", chain.corpus, "--url", url, "--model", "m", "--out", tmp_path / "run")
    assert (said.code, said.err.count("\n"), said.out) == (1, 1, "")
    assert url in said.err
    assert not (tmp_path / "run").exists()


def test_a_wrong_model_name_is_one_line_with_the_servers_words(
    agentreel: Call, chain: Any, engine: str, tmp_path: Path
) -> None:
    said = agentreel("replay", chain.corpus, "--url", engine, "--model", "nope", "--out", tmp_path / "run")
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert "nope" in said.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "option",
    [("--header", "oops"), ("--extra-body", "{"), ("--extra-body", "[]"), ("--speedup", "0"), ("--concurrency", "0")],
)
def test_a_malformed_option_is_one_line(agentreel: Call, chain: Any, tmp_path: Path, option: tuple[str, str]) -> None:
    out = tmp_path / "run"
    said = agentreel("replay", chain.corpus, "--url", "http://127.0.0.1:9", "--model", "m", "--out", out, *option)
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert said.err.startswith(f"error: {option[0]}")


def test_an_existing_run_is_refused_before_anything_is_sent(agentreel: Call, chain: Any) -> None:
    said = agentreel("replay", chain.corpus, "--url", "http://127.0.0.1:9", "--model", "m", "--out", chain.run)
    assert said.code == 1
    assert "already exists" in said.err
