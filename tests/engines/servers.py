"""Starts real inference servers on loopback and makes sure that they are gone afterwards.

Each runs in a process group of its own that is ended with SIGTERM, then SIGKILL; should the tests themselves be
killed, Linux sends the SIGTERM. Logs stay in `.engines/logs`.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from tests.engines import tiny_model
from tests.engines.installs import HOME

MODEL: Final = "tiny"
_START_TIMEOUT_S: Final = 600.0  # 30 s warm, 100 s the first time on a busy machine
_STOP_TIMEOUT_S: Final = 20.0
_PR_SET_PDEATHSIG: Final = 1

# A gibibyte of KV cache is 8 million tokens of the tiny model: nothing is ever evicted. One thread, because two wait
# for each other when something else runs on the machine.
_VLLM_ENVIRONMENT: Final[Mapping[str, str]] = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_SERVER_DEV_MODE": "1",  # gives /reset_prefix_cache
    "VLLM_HOST_IP": "127.0.0.1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
}
_VLLM_FLAGS: Final = (
    *("--served-model-name", MODEL, "--dtype", "bfloat16", "--enforce-eager"),
    *("--max-model-len", str(tiny_model.CONTEXT), "--block-size", "64", "--enable-prefix-caching"),
    *("--max-num-batched-tokens", "8192", "--max-num-seqs", "64", "--enable-prompt-tokens-details"),
    *("--no-enable-log-requests", "--disable-uvicorn-access-log"),
)


@contextlib.contextmanager
def serving_vllm(python: Path, *more_flags: str, log: str = "vllm") -> Iterator[str]:
    """Yields the base URL of a vLLM with prefix caching in blocks of 64 tokens; the last of equal flags counts."""
    model = HOME / "model"
    tiny_model.write_model(model)
    port = free_port()
    command = [python, python.with_name("vllm"), "serve", model, "--host", "127.0.0.1", "--port", port]
    with _running([*map(str, command), *_VLLM_FLAGS, *more_flags], log, port, _VLLM_ENVIRONMENT) as url:
        yield url


@contextlib.contextmanager
def serving_llama(python: Path) -> Iterator[str]:
    """Yields the base URL of a llama.cpp server."""
    folder = HOME / "gguf"
    folder.mkdir(exist_ok=True)
    tiny_model.copy_tokenizer(folder / "tokenizer.json")
    weights: dict[str, Any] = dict(tiny_model.model_weights())
    np.savez(folder / "weights.npz", **weights)
    shape = {
        "hidden": tiny_model.HIDDEN,
        "inner": tiny_model.INNER,
        "heads": tiny_model.HEADS,
        "kv_heads": tiny_model.KV_HEADS,
        "head_size": tiny_model.HEAD_SIZE,
        "rope_theta": tiny_model.ROPE_THETA,
        "chat_template": tiny_model.CHAT_TEMPLATE,
    }
    (folder / "shape.json").write_text(json.dumps(shape))
    port = free_port()
    program = Path(__file__).with_name("llama_program.py")
    with _running([str(python), str(program), str(folder), str(port)], "llama", port, {}) as url:
        yield url


def reset_prefix_cache(url: str) -> None:
    request = urllib.request.Request(f"{url}/reset_prefix_cache", data=b"", method="POST")
    with urllib.request.urlopen(request, timeout=60) as response:
        assert response.status == 200


@contextlib.contextmanager
def _running(command: Sequence[str], name: str, port: int, environment: Mapping[str, str]) -> Iterator[str]:
    log = HOME / "logs" / f"{name}.log"
    log.parent.mkdir(exist_ok=True)
    with log.open("wb") as messages:
        child = subprocess.Popen(
            command,
            stdout=messages,
            stderr=messages,
            env={**os.environ, **environment},
            start_new_session=True,
            preexec_fn=end_with_parent,  # noqa: PLW1509 (no other thread of ours runs yet; see the module's text)
        )
        try:
            _wait_until_healthy(child, f"http://127.0.0.1:{port}", name, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            end_group(child)


def end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _wait_until_healthy(child: subprocess.Popen[bytes], url: str, name: str, log: Path) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline:
        if child.poll() is not None:
            last = log.read_text(errors="replace").strip().splitlines()[-1:]
            raise RuntimeError(f"{name} ended with exit code {child.returncode}: {' '.join(last)[:300]} ({log})")
        with contextlib.suppress(urllib.error.URLError, OSError), urllib.request.urlopen(f"{url}/health", timeout=5):
            return
        time.sleep(0.5)
    raise RuntimeError(f"{name} did not answer within {_START_TIMEOUT_S:.0f} s ({log})")


def end_group(child: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=_STOP_TIMEOUT_S)
    child.wait()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
