"""Dynamo behind its KV router, in a network namespace where nothing but loopback exists."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.engines import tiny_model
from tests.engines.installs import HOME, UnavailableError, dynamo_python
from tests.engines.servers import end_group, end_with_parent, free_port

_UNSHARE: Final = ("unshare", "--user", "--map-root-user", "--net")


@dataclass(frozen=True)
class Isolated:
    """A server that only programs started with `enter` in front can reach."""

    url: str
    enter: tuple[str, ...]


def isolated_python() -> Path:
    """As `dynamo_python`, after a look whether this machine lets us make network namespaces."""
    for program in ("unshare", "nsenter"):
        if shutil.which(program) is None:
            raise UnavailableError(f"no {program} on the PATH: its event sockets would listen beyond loopback")
    tried = subprocess.run([*_UNSHARE, "true"], check=False, capture_output=True, text=True)
    if tried.returncode != 0:
        raise UnavailableError(f"no network namespace may be made here ({tried.stderr.strip()})")
    return dynamo_python()


@contextlib.contextmanager
def serving_dynamo(python: Path) -> Iterator[Isolated]:
    model = HOME / "model"
    tiny_model.write_model(model)
    port = str(free_port())
    log = HOME / "logs" / "dynamo.log"
    log.parent.mkdir(exist_ok=True)
    program = Path(__file__).with_name("dynamo_program.py")
    with tempfile.TemporaryDirectory() as folder, log.open("wb") as messages:
        command = [*_UNSHARE, sys.executable, str(program), str(python), str(model), folder, port]
        child = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=messages,
            start_new_session=True,
            preexec_fn=end_with_parent,  # noqa: PLW1509 (no other thread of ours runs yet)
        )
        try:
            assert child.stdout is not None
            with child.stdout as said:
                ready = said.readline()
            if ready != b"ready\n":
                last = log.read_text(errors="replace").strip().splitlines()[-1:]
                raise RuntimeError(f"Dynamo did not start: {' '.join(last)[:300]} ({log})")
            enter = ("nsenter", "--target", str(child.pid), "--user", "--net", "--preserve-credentials")
            yield Isolated(f"http://127.0.0.1:{port}", enter)
        finally:
            end_group(child)
