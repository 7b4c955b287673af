"""Other `agentreel` commands as child processes: the demo and the samples run the chain exactly as a person would."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson

from corpus.errors import AgentreelError

STOP_TIMEOUT_S = 30.0


def run_command(args: Sequence[str], *, quiet: bool = False) -> None:
    """Run one command to its end; AgentreelError when it fails (its own error line is on stderr already)."""
    done = subprocess.run(_command(args), check=False, stdout=subprocess.DEVNULL if quiet else None)
    if done.returncode != 0:
        raise AgentreelError(f"`agentreel {args[0]}` failed with exit code {done.returncode}")


@contextlib.contextmanager
def serve_command(args: Sequence[str], log: Path) -> Iterator[dict[str, str]]:
    """Run a serving command, yield its `ready` line, and end it with SIGTERM; its messages go to `log`."""
    with log.open("wb") as messages:
        child = subprocess.Popen(_command(args), stdout=subprocess.PIPE, stderr=messages)
        try:
            yield _ready_line(child, args, log)
        finally:
            child.send_signal(signal.SIGTERM)
            try:
                code = child.wait(timeout=STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                child.kill()
                code = child.wait()
            if child.stdout:
                child.stdout.close()
    if code != 0:
        raise AgentreelError(f"`agentreel {args[0]}` ended with exit code {code}; its messages are in {log}")


def _ready_line(child: subprocess.Popen[bytes], args: Sequence[str], log: Path) -> dict[str, str]:
    line = child.stdout.readline() if child.stdout else b""
    if not line:
        child.wait()
        raise AgentreelError(f"`agentreel {args[0]}` did not start: {log.read_text(errors='replace').strip()[-300:]}")
    ready: dict[str, str] = orjson.loads(line)
    return ready


def _command(args: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "agentreel", *args]


@contextlib.contextmanager
def recording(captures: Path, logs: Path, *, websocket: bool = False) -> Iterator[dict[str, str]]:
    """A recorder in front of a stand-in model API; yields the recorder's ready line."""
    offered = "--websocket" if websocket else "--no-websocket"
    with (
        serve_command(("standin", "model-api", offered, "--json"), logs / "model-api.log") as model_api,
        serve_command(
            (
                *("record", str(captures), "--anthropic-port", "0", "--openai-port", "0", "--json"),
                *("--anthropic-upstream", model_api["url"], "--openai-upstream", model_api["url"] + "/v1"),
            ),
            logs / "record.log",
        ) as recorder,
    ):
        yield recorder
