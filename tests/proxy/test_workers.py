"""Two real worker processes on one port."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from corpus.capture.reader import open_captures
from corpus.errors import InputError
from proxy.workers import Workers
from tests.proxy.conftest import Record, Recording
from tests.proxy.loopback import EVENT, OK_JSON, SSE_HEAD, Client, RawRequest, chunked


def ask(recording: Recording, body: bytes, session: str = "s1") -> bytes:
    """Over a connection of its own, which the kernel gives to either worker."""
    with Client(recording.url) as client:
        client.post("/v1/messages", body, (f"x-claude-code-session-id: {session}",))
        return b"".join(client.response())


def members(recording: Recording) -> Workers:
    crew = recording.recorder._crew
    assert isinstance(crew, Workers)
    return crew


def test_two_workers_share_a_port_and_read_as_one(record: Record) -> None:
    recording = record(workers=2, status_port=0)
    bodies = [b"turn %d" % number for number in range(40)]
    for body in bodies:
        assert ask(recording, body) == OK_JSON
    totals = recording.stop()
    assert (totals.requests, totals.responses, totals.ends) == (40, 40, {"complete": 40})
    captures = open_captures(recording.captures)
    assert [exchange.request.body for exchange in captures.exchanges("s1")] == bodies
    assert captures.damage == []
    workers = {file.name.split(".")[1] for file in recording.captures.iterdir() if file.suffix == ".segment"}
    assert workers == {"w0", "w1"}


def test_pausing_reaches_every_worker(record: Record) -> None:
    recording = record(workers=2)
    recording.recorder.pause(paused=True)
    wait_for(lambda: all(member.latest.paused for member in members(recording)._members))
    for _ in range(10):
        ask(recording, b"unheard")
    assert recording.exchanges() == []
    assert recording.stop().gaps == {"paused": 10}


def test_a_killed_worker_is_replaced_counted_and_its_exchange_is_unknown(record: Record) -> None:
    recording = record(workers=2)
    go_on = threading.Event()

    def hang(connection: object, _request: RawRequest) -> None:
        connection.sendall(SSE_HEAD + chunked(EVENT))  # type: ignore[attr-defined]
        go_on.wait(30)

    recording.upstream.answer = hang
    with Client(recording.url) as client:
        client.post("/v1/messages", b"in flight", ("x-claude-code-session-id: s1",))
        client.read_until(EVENT)
        crew = members(recording)
        wait_for(lambda: crew.snapshot().open == 1 and crew.snapshot().counts.get("requests") == 1)
        victim = next(member for member in crew._members if member.latest.open)
        pid = victim.process.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        assert client.read_all().count(EVENT) == 0  # cut, not hanging
    go_on.set()
    wait_for(lambda: crew.snapshot().counts.get("worker_restarts") == 1)
    wait_for(lambda: victim.process.pid not in (None, pid) and victim.ready.done())
    recording.upstream.answer = lambda connection, _request: connection.sendall(OK_JSON)
    for _ in range(10):
        assert ask(recording, b"after") == OK_JSON
    totals = recording.stop()
    assert (totals.worker_restarts, totals.requests) == (1, 11)
    ends = [exchange.end for exchange in open_captures(recording.captures).exchanges()]
    assert ends == ["unknown"] + ["complete"] * 10


def test_a_worker_that_cannot_start_is_one_line(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    """The port is asked for again by each worker, as another address here."""
    monkeypatch.setattr("proxy.recorder._LOOPBACK", "192.0.2.1")
    with pytest.raises(InputError):
        record(workers=2, forward_port=0)


def wait_for(done: object) -> None:
    tick = threading.Event()
    for _ in range(600):
        if done():  # type: ignore[operator]
            return
        tick.wait(0.05)
    raise AssertionError("never happened")
