"""Run inside a network namespace of its own: brings up its loopback and serves Dynamo's frontend, KV router and mocker.

    python dynamo_program.py PYTHON MODEL FOLDER PORT       prints "ready" once the model can be asked for

Dynamo's event sockets listen on every address of the machine and have no setting for it; here there is only loopback.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Final

WORKERS: Final = 2
BLOCK_TOKENS: Final = 64
_BLOCKS: Final = 200_000  # a worker: nothing is ever evicted
_SIOCSIFFLAGS: Final = 0x8914
_IFF_UP_RUNNING: Final = 0x1 | 0x40
_START_TIMEOUT_S: Final = 120.0
_PR_SET_PDEATHSIG: Final = 1
_PLANES: Final = ("--discovery-backend", "file", "--request-plane", "tcp", "--event-plane", "zmq")


def bring_loopback_up() -> None:
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", _IFF_UP_RUNNING))


def commands(python: str, model: str, port: str) -> tuple[list[str], list[str]]:
    frontend = [python, "-m", "dynamo.frontend", "--http-host", "127.0.0.1", "--http-port", port, *_PLANES]
    frontend += ["--router-mode", "kv", "--kv-cache-block-size", str(BLOCK_TOKENS), "--enable-anthropic-api"]
    mocker = [python, "-m", "dynamo.mocker", "--model-path", model, "--model-name", "tiny", *_PLANES]
    mocker += ["--num-workers", str(WORKERS), "--block-size", str(BLOCK_TOKENS), "--enable-prefix-caching"]
    mocker += ["--num-gpu-blocks-override", str(_BLOCKS), "--speedup-ratio", "10"]
    return frontend, mocker


def end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def wait_until_served(children: list[subprocess.Popen[bytes]], port: str) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline:
        if any(child.poll() is not None for child in children):
            sys.exit("one of Dynamo's programs ended")
        with (
            contextlib.suppress(urllib.error.URLError, OSError),
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5) as answer,
        ):
            if b'"tiny"' in answer.read():
                return
        time.sleep(0.3)
    sys.exit(f"Dynamo did not serve the model within {_START_TIMEOUT_S:.0f} s")


def main() -> None:
    python, model, folder, port = sys.argv[1:]
    bring_loopback_up()
    environment = {
        **os.environ,
        "HOME": folder,  # it keeps model cards in a cache there
        "DYN_FILE_KV": str(Path(folder) / "discovery"),
        "DYN_TCP_RPC_HOST": "127.0.0.1",
        "DYN_TCP_RESPONSE_STREAM_HOST": "127.0.0.1",
        "HF_HUB_OFFLINE": "1",
        "DO_NOT_TRACK": "1",
    }
    children = [
        subprocess.Popen(command, env=environment, stdout=sys.stderr, preexec_fn=end_with_parent)  # noqa: PLW1509 (no thread of ours runs)
        for command in commands(python, model, port)
    ]
    wait_until_served(children, port)
    print("ready", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
