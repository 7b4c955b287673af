"""What the proxy benchmarks share: a streaming upstream, proxies as processes, a raw client, a session's bodies.

Each part is a process of its own where its CPU time is measured or must not be mixed in, and everything stays on
loopback. Times of one run are comparable with each other only.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import inspect
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import venv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / ".peers"
CLAUDE_TAP = "claude-tap==0.1.146"
MESSAGE = "message_start"

_TICK = os.sysconf("SC_CLK_TCK")

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Proxy:
    name: str
    url: str
    pid: int

    def cpu_s(self) -> float:
        """User and system time so far, all threads."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def rss_bytes(self) -> int:
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def process(command: list[str], **options: object) -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload]
    try:
        yield child
    finally:
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(30)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        child.stdout.close()


@contextlib.contextmanager
def upstream(events: int, gap_s: float, *more: str) -> Iterator[str]:
    with process([sys.executable, str(HERE / "streaming_upstream.py"), str(events), str(gap_s), *more]) as child:
        yield child.stdout.readline().strip()


@contextlib.contextmanager
def bare_tee(upstream_url: str) -> Iterator[Proxy]:
    with process([sys.executable, str(HERE / "bare_tee.py"), upstream_url]) as child:
        yield Proxy("bare", child.stdout.readline().strip(), child.pid)


@contextlib.contextmanager
def recorder(upstream_url: str, captures: Path, *more: str, **environment: str) -> Iterator[Proxy]:
    command = [sys.executable, "-m", "agentreel", "record", str(captures), "--json", "--anthropic-port", "0"]
    command += ["--openai-port", "0", "--anthropic-upstream", upstream_url, "--openai-upstream", upstream_url, *more]
    with process(command, cwd=ROOT, env=os.environ | environment) as child:
        ready = json.loads(child.stdout.readline())
        yield Proxy("agentreel", ready["anthropic"], child.pid)


@contextlib.contextmanager
def claude_tap(upstream_url: str, home: Path) -> Iterator[Proxy | None]:
    """None, with the reason printed, where it can't be had."""
    program = install_claude_tap()
    if program is None:
        yield None
        return
    port = free_port()
    command = [str(program), "--tap-no-launch", "--tap-host", "127.0.0.1", "--tap-port", str(port), "--tap-no-open"]
    command += ["--tap-no-live", "--tap-target", upstream_url, "--tap-output-dir", str(home / "traces")]
    environment = os.environ | {"HOME": str(home), "XDG_DATA_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    with process(command, cwd=home, env=environment, stderr=subprocess.DEVNULL) as child:
        until_listening(port)
        yield Proxy("claude-tap", f"http://127.0.0.1:{port}", child.pid)


def install_claude_tap() -> Path | None:
    folder = PEERS / "claude-tap"
    program = folder / "bin" / "claude-tap"
    if not program.exists():
        try:
            venv.create(folder, with_pip=True)
            pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
            subprocess.run([*pip, CLAUDE_TAP], check=True, capture_output=True, timeout=300)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"skipped: {CLAUDE_TAP} cannot be installed ({type(error).__name__})", file=sys.stderr)
            return None
    return program


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def until_listening(port: int) -> None:
    for _ in range(300):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise TimeoutError(f"nothing listens on port {port}")


def address(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("http://").partition(":")
    return host, int(port)


class Client:
    """One keep-alive connection."""

    def __init__(self, url: str) -> None:
        self.socket = socket.create_connection(address(url), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, body: bytes, session: str, on_first: Callable[[], None] = lambda: None) -> float:
        """Seconds to the first byte of the body; reads the stream to its end."""
        began = time.perf_counter()
        self.socket.sendall(request(body, session))
        data = bytearray()
        first = 0.0
        while not data.endswith(b"0\r\n\r\n"):
            piece = self.socket.recv(1 << 16)
            if not piece:
                raise ConnectionError("cut")
            data += piece
            if not first and MESSAGE.encode() in data:
                first = time.perf_counter() - began
                on_first()
        if b" 200 " not in data[:20]:
            raise ConnectionError(bytes(data[:60]))
        return first


def request(body: bytes, session: str) -> bytes:
    lines = ("POST /v1/messages?beta=true HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json")
    lines += (
        "User-Agent: claude-cli/2.1.0 (external, cli)",
        "x-api-key: sk-ant-dummy",
        "anthropic-version: 2023-06-01",
    )
    lines += (f"x-claude-code-session-id: {session}", f"Content-Length: {len(body)}", "", "")
    return "\r\n".join(lines).encode() + body


_SOURCES = (argparse, asyncio.base_events, inspect, textwrap, tempfile, subprocess, socket)


def texts(size: int, start: int = 0) -> Iterator[str]:
    """Pieces of the standard library's source, `size` characters each, for ever; never twice the same."""
    source = "".join(inspect.getsource(module) for module in _SOURCES)
    number = start
    while True:
        at = number * 7919 % (len(source) - size)
        yield f"{number} {source[at : at + size]}"
        number += 1


TOOLS = [
    {
        "name": f"Tool{n}",
        "description": "Does one thing well. " * 50,
        "input_schema": {"type": "object", "properties": {}},
    }
    for n in range(24)
]


def body_of(messages: list[dict[str, object]]) -> bytes:
    """As Claude Code sends it."""
    system = [{"type": "text", "text": "You are a coding agent. " * 600, "cache_control": {"type": "ephemeral"}}]
    whole = {"model": "claude-x", "max_tokens": 32000, "stream": True, "tools": TOOLS, "system": system}
    return json.dumps(whole | {"messages": messages}, separators=(",", ":")).encode()


def growing_session(start_bytes: int, result_bytes: int = 2500) -> Iterator[bytes]:
    """Request bodies of one session, each with the history of the one before and a tool call with its result more."""
    pieces = texts(result_bytes)
    messages: list[dict[str, object]] = [{"role": "user", "content": "Fix the build."}]
    size = 0
    for number in itertools.count():
        call: dict[str, object] = {"type": "tool_use", "id": f"toolu_{number:024}", "name": "Read"}
        call["input"] = {"file_path": f"/src/module_{number}.py", "limit": 200}
        words = {"type": "text", "text": f"Next I read module {number}."}
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": [{"type": "text", "text": next(pieces)}]}
        messages += [{"role": "assistant", "content": [words, call]}, {"role": "user", "content": [result]}]
        size += result_bytes + 400
        if size >= start_bytes:
            yield body_of(messages)


def report(bench: str, target: str, *, ok: bool | None, **numbers: object) -> None:
    """`ok` None: could not be judged, the reason is in the numbers."""
    load = os.getloadavg()[0]
    print(
        json.dumps({"bench": bench, **numbers, "load_average": round(load, 1), "target": target, "ok": ok}), flush=True
    )


def median(values: list[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]
