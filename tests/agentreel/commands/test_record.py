from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentreel.commands.record import status_words
from agentreel.process import serve_command
from proxy.tally import SessionCount
from proxy.totals import Snapshot

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


def fetch(url: str, *, data: bytes | None = None, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    request = urllib.request.Request(url, data=data, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read()


def test_tokens_status_page_and_workers_in_one_run(model_api: str, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("ada: ada-0123456789abcdef\n")
    tokens.chmod(0o600)
    more = ("--json", "--token-file", str(tokens), "--status-port", "0", "--workers", "2")
    child = start(tmp_path / "captures", model_api, *more)
    assert child.stdout is not None
    ready = json.loads(child.stdout.readline())
    assert ready["status"].startswith("http://127.0.0.1:")
    base = ready["openai"].removesuffix("/v1")
    assert fetch(base + "/v1/models")[0] == 401
    assert fetch(base + "/t/ada-0123456789abcdef/v1/models")[0] == 200
    assert fetch(ready["openai"] + "/models", headers={"x-agentreel-token": "ada-0123456789abcdef"})[0] == 200
    assert fetch(ready["status"] + "/metrics")[1].startswith(b"# HELP agentreel_")
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (0, "")
    stopped = json.loads(out)
    assert (stopped["requests"], stopped["refused"]) == (2, {"401": 1})


def test_signals_pause_and_resume(model_api: str, tmp_path: Path) -> None:
    child = start(tmp_path / "captures", model_api, "--json", "--status-port", "0")
    assert child.stdout is not None
    ready = json.loads(child.stdout.readline())
    for number, paused in ((signal.SIGUSR1, True), (signal.SIGUSR2, False)):
        child.send_signal(number)
        while json.loads(fetch(ready["status"] + "/status.json")[1])["paused"] is not paused:
            pass
        assert fetch(ready["openai"] + "/models")[0] == 200
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    stopped = json.loads(out)
    assert (stopped["requests"], stopped["gaps"]) == (1, {"paused": 1})


def test_another_address_is_refused_in_one_line(agentreel: Call, tmp_path: Path) -> None:
    said = agentreel("record", tmp_path / "captures", "--host", "0.0.0.0", "--anthropic-port", "0")
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert "--token-file and --tls-cert with --tls-key, or --insecure-bind" in said.err
    assert not (tmp_path / "captures").exists()


def test_the_status_line_says_what_matters() -> None:
    sessions = (SessionCount("s", requests=2), SessionCount(None, requests=1))
    counts = {"requests": 3, "request_bytes": 1_500_000}
    words = status_words(Snapshot(open=1, counts=counts, sessions=sessions))
    assert words == "recording · 1 sessions · 3 requests · 1 in flight · 1.5 MB"
    troubled = status_words(Snapshot(paused=True, counts={"dropped": 2, "write_errors": 1}))
    assert "[bold red]paused[/]" in troubled
    assert "[red]3 not recorded in full[/]" in troubled


def test_on_a_terminal_the_status_line_is_drawn(model_api: str, tmp_path: Path) -> None:
    terminal, theirs = pty.openpty()
    command = [sys.executable, "-m", "agentreel", "record", str(tmp_path / "captures"), "--anthropic-port", "0"]
    command += ["--openai-port", "0", "--anthropic-upstream", model_api, "--openai-upstream", model_api + "/v1"]
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment) as child:
        os.close(theirs)
        drawn = b""
        while b"0 requests" not in drawn:
            drawn += os.read(terminal, 4096)
        child.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):  # how a terminal says that it was closed
            while os.read(terminal, 4096):
                pass
        assert child.wait(60) == 0
    os.close(terminal)
