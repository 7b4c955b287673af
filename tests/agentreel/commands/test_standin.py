from __future__ import annotations

import json
import socket
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentreel.process import serve_command

Call = Callable[..., Any]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("logs") / "engine.log"
    with serve_command(("standin", "engine", "--model", "tiny", "--json"), log) as ready:
        yield ready["url"]


def test_the_engine_serves_the_named_model_and_metrics_under_vllm_names(engine: str) -> None:
    with urllib.request.urlopen(engine + "/v1/models", timeout=30) as answer:
        assert [model["id"] for model in json.load(answer)["data"]] == ["tiny"]
    with urllib.request.urlopen(engine + "/metrics", timeout=30) as answer:
        assert b"vllm:prefix_cache_queries_total" in answer.read()


def test_agents_report_each_scenario(agentreel: Call, tmp_path: Path) -> None:
    with serve_command(("standin", "model-api", "--first-token-s", "0", "--json"), tmp_path / "log") as ready:
        where = ("--anthropic", ready["url"], "--openai", ready["url"] + "/v1")
        said = agentreel(
            *("standin", "agents", *where, "--tool-s", 0, "--think-s", 0, "--json"),
            *("--scenario", "claude-parallel", "--scenario", "codex-team"),
        )
    assert said.code == 0
    report = json.loads(said.out)
    assert [len(session["agents"]) for session in report["sessions"]] == [2, 2]
    assert report["errors"] == []


def test_agents_without_a_server_fail_and_say_so(agentreel: Call) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    said = agentreel("standin", "agents", "--anthropic", url, "--openai", url, "--scenario", "claude-loop")
    assert said.code == 1
    assert said.err.startswith("failed: claude-loop: ")


def test_a_port_in_use_is_one_line(agentreel: Call) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        said = agentreel("standin", "model-api", "--port", taken.getsockname()[1])
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert "cannot listen" in said.err
