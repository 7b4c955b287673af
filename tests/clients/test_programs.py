"""What keeps the real clients harmless works without them."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients import programs
from tests.clients.gate import closed_gate
from tests.clients.programs import UnavailableError, empty_environment, installed, kill_left, left_running, run_to_end


def test_without_npm_there_is_one_line_that_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError, match=r"\Anpm is not on the PATH\Z"):
        installed(tmp_path / "prefix")


def test_a_failed_installation_says_why_and_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\necho 'npm error code ENOTFOUND' >&2\nexit 1\n")
    npm.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for _ in range(2):
        with pytest.raises(UnavailableError, match="npm ci failed: npm error code ENOTFOUND"):
            installed(tmp_path / "prefix")


def test_a_client_that_does_not_end_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "RUN_LIMIT_S", 0.5)
    environment = empty_environment(tmp_path, "http://127.0.0.1:1")
    done = run_to_end(["/bin/sh", "-c", "sleep 600 & sleep 600"], tmp_path, environment)
    assert done.code < 0
    assert "killed after" in done.err
    assert kill_left(tmp_path) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the environment of processes")
def test_what_runs_detached_is_found_and_killed(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "600"], env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}) as child:
        assert left_running(tmp_path) == [child.pid]
        assert kill_left(tmp_path, patience_s=0) == [child.pid]
        assert child.wait() < 0


def test_a_client_sees_nothing_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "ours")
    done = run_to_end(["/usr/bin/env"], tmp_path, empty_environment(tmp_path, "http://127.0.0.1:1"))
    names = {line.partition("=")[0] for line in done.out.splitlines()}
    proxies = {"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"}
    assert names == {"PATH", "HOME", "TMPDIR", "LANG", "TERM"} | proxies


def test_the_gate_refuses_and_remembers() -> None:
    with closed_gate() as gate:
        address = gate.url.removeprefix("http://")
        for method, target in (("CONNECT", "example.test:443"), ("GET", "http://example.test/")):
            connection = http.client.HTTPConnection(address, timeout=10)
            connection.request(method, target)
            assert connection.getresponse().status == 403
            connection.close()
    assert gate.refused == ["example.test:443", "http://example.test/"]
