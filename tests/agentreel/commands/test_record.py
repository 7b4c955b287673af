from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentreel.process import serve_command

Call = Callable[..., Any]


@pytest.fixture(scope="module")
def model_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("logs") / "model-api.log"
    with serve_command(("standin", "model-api", "--json"), log) as ready:
        yield ready["url"]


def start(captures: Path, upstream: str, *more: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "agentreel",
        "record",
        str(captures),
        "--anthropic-port",
        "0",
        "--openai-port",
        "0",
    ]
    command += ["--anthropic-upstream", upstream, "--openai-upstream", upstream + "/v1", *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_listens_and_ends_cleanly(model_api: str, tmp_path: Path, number: signal.Signals) -> None:
    child = start(tmp_path / "captures", model_api, "--json")
    assert child.stdout is not None
    ready = json.loads(child.stdout.readline())
    assert ready["event"] == "ready"
    assert ready["anthropic"].startswith("http://127.0.0.1:")
    assert ready["openai"].endswith("/v1")
    with urllib.request.urlopen(ready["openai"] + "/models", timeout=30) as answer:
        assert answer.status == 200
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (0, "")
    assert json.loads(out)["requests"] == 1


def test_a_person_reads_the_lines_to_set_for_both_clients(model_api: str, tmp_path: Path) -> None:
    child = start(tmp_path / "captures", model_api)
    assert child.stdout is not None
    lines = [child.stdout.readline() for _ in range(12)]
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    said = "".join(lines)
    assert "export ANTHROPIC_BASE_URL=http://127.0.0.1:" in said
    assert 'openai_base_url = "http://127.0.0.1:' in said
    assert model_api in said
    assert "0 requests heard" in err


def test_a_port_in_use_is_one_line_that_names_it(agentreel: Call, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = agentreel("record", tmp_path / "captures", "--anthropic-port", port, "--openai-port", "0")
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert str(port) in said.err


def test_a_folder_with_other_things_is_refused(agentreel: Call, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    said = agentreel("record", tmp_path, "--anthropic-port", "0", "--openai-port", "0")
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]
