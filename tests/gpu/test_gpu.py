"""A replay against a model that really computes, on the GPU where there is one: exact tokens, edges, shared prefixes.

`make test-gpu`; minutes on a CPU, less on a GPU. It needs some Python with torch and transformers and nothing else.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from corpus.run import read_run

ROOT = Path(__file__).resolve().parents[2]
PROBE = "import torch, transformers; print('cuda' if torch.cuda.is_available() else 'cpu')"
# Where torch may be: this environment, the machine's own Python, the environment that `make test-engines` made.
PYTHONS = (sys.executable, "python3", "python", str(ROOT / ".engines" / "vllm" / "venv" / "bin" / "python"))


def torch_python() -> tuple[str, str]:
    """A Python with torch and transformers, and the device it computes on; one with a GPU before one without."""
    found: dict[str, str] = {}
    for python in PYTHONS:
        path = shutil.which(python)
        if path is not None:
            said = subprocess.run([path, "-c", PROBE], check=False, capture_output=True, text=True)
            if said.returncode == 0:
                found.setdefault(said.stdout.split()[-1], path)
    for device in ("cuda", "cpu"):
        if device in found:
            return found[device], device
    pytest.skip(f"no Python with torch and transformers among {', '.join(PYTHONS)}")


@contextmanager
def served(python: str, device: str) -> Iterator[str]:
    command = [python, str(Path(__file__).with_name("torch_server.py")), "0", device]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            port = server.stdout.readline().strip()
            assert port, "the server did not start"
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def test_sample_is_replayed_to_the_token(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    python, device = torch_python()
    began = time.monotonic()
    with served(python, device) as url:
        options = ("--url", url, "--model", "random", "--out", str(tmp_path / "run"), "--warmup", "none")
        command = [sys.executable, "-m", "agentreel", "replay", str(ROOT / "samples" / "corpus"), *options]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    run = read_run(tmp_path / "run")
    summary = run.summary
    assert (summary["errors"], summary["edge_violations"], summary["early_roots"]) == (0, 0, 0)
    assert summary["token_error"]["max"] == 0
    assert summary["warnings"] == {}
    assert summary["sessions_completed"] == 1
    for row in run.requests:
        assert row.measured_output_tokens == row.planned_output_tokens
        assert row.predicted_cached_tokens is not None
        assert (row.cached_tokens or 0) <= row.predicted_cached_tokens
    assert summary["cached_tokens"] > 0
    with capsys.disabled():
        print(
            f"\n{device}: {summary['requests']} requests, {summary['input_tokens']} prompt tokens of which "
            f"{summary['cached_tokens']} cached, {summary['output_tokens']} generated, "
            f"all in {time.monotonic() - began:.0f} s"
        )
