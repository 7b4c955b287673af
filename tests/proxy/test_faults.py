"""What goes wrong behind the traffic stays behind it: a full disk, a slow one, a broken recorder, a killed one."""

from __future__ import annotations

import errno
import functools
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from corpus.capture.reader import Captures, open_captures
from corpus.capture.writer import CaptureWriter
from corpus.exchange import RequestRecord
from proxy.backlog import Backlog
from tests.proxy.conftest import Record, Recording
from tests.proxy.loopback import EVENT, OK_JSON, SSE_HEAD, TIMEOUT_S, Client, RawRequest, Upstream, chunked
from tests.proxy.test_recorder import SCRIPT
from tests.proxy.websockets import MASK, connected, create, frame, hold, upgrade, upgraded


def ask(recording: Recording, number: int, size: int = 1) -> None:
    with Client(recording.url) as client:
        client.post("/v1/messages", b"%d " % number * size, ("x-claude-code-session-id: s1",))
        assert b"".join(client.response()) == OK_JSON


def read(recording: Recording) -> Captures:
    captures = open_captures(recording.captures)
    captures.scan_all()
    assert captures.damage == []
    return captures


def test_a_full_disk_costs_records_and_says_so_once_there_is_room(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        for name in ("write_request", "write_response", "write_gap", "sync"):
            full.setattr(CaptureWriter, name, _refuse)
        for number in range(5):
            ask(recording, number)
        wait_for(lambda: recording.recorder.snapshot().counts.get("gap:disk") == 10)
        last_error = recording.recorder.snapshot().last_error
        assert last_error is not None
        assert last_error[1] == f"a record or a file could not be written: OSError (errno {errno.ENOSPC})"
    ask(recording, 5)
    totals = recording.stop()
    assert (totals.requests, totals.gaps) == (1, {"disk": 10})
    captures = read(recording)
    assert [(gap.cause, gap.count) for gap in captures.gaps] == [("disk", 10)]
    assert [exchange.request.body for exchange in captures.exchanges()] == [b"5 "]


def _refuse(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_slow_disk_costs_bodies_never_traffic(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proxy.engine.Backlog", functools.partial(Backlog, 100_000))
    go_on = threading.Event()
    write = CaptureWriter.write_request

    def slowly(self: CaptureWriter, record: RequestRecord) -> None:
        assert go_on.wait(TIMEOUT_S)
        write(self, record)

    monkeypatch.setattr(CaptureWriter, "write_request", slowly)
    recording = record()
    for number in range(7):
        ask(recording, number, size=10_000)
    assert recording.recorder.snapshot().counts["dropped"] > 0
    assert recording.recorder.snapshot().backlog_bytes <= 100_000 + 100_000 // 8
    go_on.set()
    totals = recording.stop()
    (gap,) = read(recording).gaps
    assert (gap.cause, gap.count) == ("backlog", totals.dropped)
    assert totals.gaps == {"backlog": totals.dropped}


def test_a_broken_recorder_is_a_gap(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_self: CaptureWriter, _record: RequestRecord) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr(CaptureWriter, "write_request", broken)
    for number in range(3):
        ask(recording, number)
    totals = recording.stop()
    assert (totals.requests, totals.responses, totals.write_errors, totals.gaps) == (0, 3, 3, {"fault": 3})
    captures = open_captures(recording.captures)
    captures.scan_all()
    assert [(gap.cause, gap.count) for gap in captures.gaps] == [("fault", 3)]


def start(folder: Path, upstream: Upstream) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-c", SCRIPT, str(folder), upstream.url]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait(TIMEOUT_S)
    assert process.stdout is not None
    process.stdout.close()


def test_after_a_kill_what_was_written_is_there_and_what_was_in_flight_is_unknown(
    upstream: Upstream, tmp_path: Path
) -> None:
    process, url = start(tmp_path / "captures", upstream)
    with Client(url) as client, Client(url) as hanging:
        for number in range(5):
            client.post("/v1/messages", b"%d" % number)
            client.response()
        upstream.answer = _begin_and_hang
        hanging.post("/v1/messages", b"in flight")
        hanging.read_until(EVENT)
        wait_for(lambda: sum(1 for _ in open_captures(tmp_path / "captures").exchanges()) == 6)
        wait_for(lambda: sum(e.response is not None for e in open_captures(tmp_path / "captures").exchanges()) == 5)
        kill(process)
    captures = open_captures(tmp_path / "captures")
    assert [exchange.end for exchange in captures.exchanges()] == ["complete"] * 5 + ["unknown"]
    assert captures.damage == []


def test_a_websocket_in_flight_at_a_kill_is_unknown_be_it_a_handshake_or_a_turn(
    upstream: Upstream, tmp_path: Path
) -> None:
    process, url = start(tmp_path / "captures", upstream)
    go_on, talk = hold()
    upstream.answer = upgraded(talk)
    with connected(url) as idle, connected(url) as asking, Client(url) as shaking:
        asking.send(frame(create(), mask=MASK))
        upstream.answer = lambda connection, _request: talk(connection)
        shaking.send(upgrade())
        folder = tmp_path / "captures"
        wait_for(lambda: sum(1 for e in open_captures(folder).exchanges()) == 3)
        wait_for(lambda: any(e.request.body for e in open_captures(folder).exchanges()))
        kill(process)
        idle.socket.close()
    go_on.set()
    captures = open_captures(tmp_path / "captures")
    found = sorted((exchange.request.body, exchange.end) for exchange in captures.exchanges())
    assert found == [(b"", "unknown"), (b"", "unknown"), (create(), "unknown")]
    assert captures.damage == []


def _begin_and_hang(connection: object, _request: RawRequest) -> None:
    connection.sendall(SSE_HEAD + chunked(EVENT))  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(3))
def test_a_kill_at_any_point_leaves_nothing_half_told(upstream: Upstream, tmp_path: Path, seed: int) -> None:
    """Where it strikes is chance; whatever is found afterwards is whole, and a new recorder goes on."""
    process, url = start(tmp_path / "captures", upstream)
    strike = random.Random(seed).randrange(1, 60)
    with Client(url) as client:
        for number in range(strike):
            client.post("/v1/messages", b"%d " % number * 5000, ("x-claude-code-session-id: s1",))
            client.response()
        client.post("/v1/messages", b"last " * 5000)
        kill(process)
    for exchange in open_captures(tmp_path / "captures").exchanges():
        assert len(exchange.request.body) == exchange.request.body_bytes >= 10_000
        assert exchange.end in ("complete", "unknown")
    process, url = start(tmp_path / "captures", upstream)
    with Client(url) as client:
        client.post("/v1/messages", b"after")
        client.response()
    process.send_signal(signal.SIGTERM)
    process.wait(TIMEOUT_S)
    assert process.stdout is not None
    process.stdout.close()
    assert list(open_captures(tmp_path / "captures").exchanges())[-1].request.body == b"after"


def wait_for(done: Callable[[], bool]) -> None:
    tick = threading.Event()
    for _ in range(600):
        if done():
            return
        tick.wait(0.05)
    raise AssertionError("never happened")
