"""The real clients: installed from npm into the checkout, and run where they can do no harm.

Versions are pinned with checksums in package-lock.json; install scripts do not run, the native programs are called as
they are. A client gets an empty environment, a home of its own, dummy keys, a gate in place of the internet, and a time
limit after which its whole process group is killed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PREFIX = HERE.parents[1] / ".clients"  # ignored by git
INSTALL_LIMIT_S = 600
RUN_LIMIT_S = 150  # a scenario takes under 20 s on an idle machine

_PROGRAMS = {
    "claude": "node_modules/@anthropic-ai/claude-code-*/claude",
    "codex": "node_modules/@openai/codex-*/vendor/*/bin/codex",
}


class UnavailableError(Exception):
    """The clients cannot be had on this machine; the text is one line for the person."""


@dataclass(frozen=True, slots=True)
class Finished:
    code: int
    out: str
    err: str


def installed(prefix: Path = PREFIX) -> dict[str, Path]:
    """Client to program, installed on first use; UnavailableError says in one line why not."""
    if not _is_current(prefix):
        _install(prefix)
    found = {name: next(iter(sorted(prefix.glob(pattern))), None) for name, pattern in _PROGRAMS.items()}
    if missing := [name for name, path in found.items() if path is None]:
        raise UnavailableError(f"npm installed no program of {' and '.join(missing)} for this platform")
    return {name: path for name, path in found.items() if path}


def _is_current(prefix: Path) -> bool:
    lock = prefix / "package-lock.json"
    done = all(any(prefix.glob(pattern)) for pattern in _PROGRAMS.values())
    return done and lock.is_file() and lock.read_bytes() == (HERE / lock.name).read_bytes()


def _install(prefix: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise UnavailableError("npm is not on the PATH")
    prefix.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(HERE / name, prefix / name)
    command = [npm, "ci", "--prefix", str(prefix), "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=INSTALL_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"npm ci did not end within {INSTALL_LIMIT_S} s") from None
    if done.returncode != 0:
        (prefix / "package-lock.json").unlink()  # half an install is none
        said = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        raise UnavailableError(f"npm ci failed: {said[0] if said else f'exit code {done.returncode}'}")


def empty_environment(home: Path, gate_url: str) -> dict[str, str]:
    """Nothing of ours: a home of its own, and a proxy that lets nothing but loopback through."""
    git = shutil.which("git")
    paths = dict.fromkeys([*([str(Path(git).parent)] if git else []), "/usr/bin", "/bin"])
    gate = dict.fromkeys(("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"), gate_url)
    loopback = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
    own = {"PATH": ":".join(paths), "HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8", "TERM": "dumb"}
    return own | gate | loopback


def run_to_end(command: list[str], cwd: Path, environment: dict[str, str]) -> Finished:
    """Run a client; when it ends or its time is up, everything it started is killed."""
    child = subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = child.communicate(timeout=RUN_LIMIT_S)
    except subprocess.TimeoutExpired:
        kill_group(child.pid)
        out, err = child.communicate()
        err += f"\n(killed after {RUN_LIMIT_S} s)".encode()
    kill_group(child.pid)
    return Finished(child.returncode, out.decode(errors="replace"), err.decode(errors="replace"))


def left_running(home: Path) -> list[int]:
    """Processes that still have this home, where the system tells (Linux)."""
    mark, found = f"HOME={home}".encode(), []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in entry.read_bytes().split(b"\0"):
                found.append(int(entry.parent.name))
        except OSError:
            continue  # not ours, or gone
    return found


def kill_left(home: Path, patience_s: float = 5.0) -> list[int]:
    """Give helpers that ran detached a moment to end, then kill them; what had to be killed."""
    until = time.monotonic() + patience_s
    while (alive := left_running(home)) and time.monotonic() < until:
        time.sleep(0.1)
    for pid in alive:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return alive


def kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
