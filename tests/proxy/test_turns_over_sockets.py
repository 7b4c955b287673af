"""WebSockets over loopback through the real recorder."""

from __future__ import annotations

import socket
import threading

import pytest
from mitmproxy import tcp

from proxy.assembler import Assembler, Event
from proxy.assembler import Record as Record_
from proxy.hooks import Hooks
from tests.proxy.conftest import Record, Recording
from tests.proxy.loopback import TIMEOUT_S, reset
from tests.proxy.websockets import DEFLATE, MASK, Packer, connected, create, events, frame, receive, upgraded


@pytest.mark.parametrize("packed", [False, True])
def test_every_byte_passes_both_ways_and_turns_are_recorded(recording: Recording, packed: bool) -> None:
    down, up = Packer(), Packer()
    asked = [create(number, prompt_cache_key="é" * 100_000) for number in (1, 2)]
    answers = [events(f"r{number}", "yes", "no") for number in (1, 2)]
    sent = [up.frame(body, MASK) if packed else frame(body, mask=MASK) for body in asked]
    told = [b"".join(down.frame(one) if packed else frame(one) for one in answer) for answer in answers]
    ping, pong, close = frame(b"p", opcode=9, mask=MASK), frame(b"p", opcode=10), frame(b"\x03\xe8bye", opcode=8)
    heard: list[bytes] = []

    def talk(connection: socket.socket) -> None:
        for number in range(2):
            heard.append(receive(connection, len(sent[number])))
            connection.sendall(told[number])
        heard.append(receive(connection, len(ping)))
        connection.sendall(pong + close)

    recording.upstream.answer = upgraded(talk, extra=DEFLATE if packed else b"")
    with connected(recording.recorder.openai_url, ("session-id", "s")) as client:
        for number in range(2):
            client.send(sent[number])
            assert client.read_until(told[number][-20:]) == told[number]
        client.send(ping)
        assert client.read_all() == pong + close
    assert heard == [*sent, ping]
    exchanges = recording.exchanges()
    assert [exchange.request.body for exchange in exchanges] == asked
    assert [exchange.response.messages for exchange in exchanges if exchange.response] == [
        tuple(answer) for answer in answers
    ]
    assert {(e.end, e.request.identity.session_id, e.request.path) for e in exchanges} == {
        ("complete", "s", "/v1/responses")
    }
    assert exchanges[1].request.upstream == f"{recording.upstream.url}/v1"


def test_a_client_that_drops_the_line_is_an_abort_and_the_upstream_hears_no_farewell(recording: Recording) -> None:
    rest: list[bytes] = []
    gone = threading.Event()
    asked = frame(create(), mask=MASK)

    def talk(connection: socket.socket) -> None:
        receive(connection, len(asked))
        connection.sendall(frame(events("r1")[0]))
        rest.append(connection.recv(100))
        gone.set()

    recording.upstream.answer = upgraded(talk)
    with connected(recording.recorder.openai_url) as client:
        client.send(asked)
        client.read_until(b"in_progress")
    assert gone.wait(TIMEOUT_S)
    assert rest == [b""]
    assert recording.only_exchange().end == "client_abort"


@pytest.mark.parametrize("hard", [False, True])
def test_an_upstream_that_drops_the_line_is_an_upstream_reset(recording: Recording, hard: bool) -> None:
    asked = frame(create(), mask=MASK)

    def talk(connection: socket.socket) -> None:
        receive(connection, len(asked))
        connection.sendall(frame(events("r1")[0]))
        if hard:
            reset(connection)

    recording.upstream.answer = upgraded(talk)
    with connected(recording.recorder.openai_url) as client:
        client.send(asked)
        client.read_all()
    assert recording.only_exchange().end == "upstream_reset"


def test_stopping_ends_open_turns_and_does_not_wait_for_idle_connections(record: Record) -> None:
    recording = record(grace_s=0.2)
    idle = record_idle(recording)
    asked = frame(create(), mask=MASK)

    def talk(connection: socket.socket) -> None:
        receive(connection, len(asked))
        connection.sendall(frame(events("r1")[0]))
        connection.recv(1)

    recording.upstream.answer = upgraded(talk)
    with idle, connected(recording.recorder.openai_url) as client:
        client.send(asked)
        client.read_until(b"in_progress")
        recording.stop()
    ends = {(e.request.method, bool(e.request.body), e.end) for e in recording.exchanges()}
    assert ends == {("GET", True, "proxy_shutdown"), ("GET", False, "complete")}


def record_idle(recording: Recording) -> socket.socket:
    """An upgraded connection on which nothing is said."""
    recording.upstream.answer = upgraded(assert_quiet)
    context = connected(recording.recorder.openai_url)
    client = context.__enter__()
    return client.socket


def assert_quiet(connection: socket.socket) -> None:
    assert connection.recv(1) == b""


def test_a_fault_while_listening_changes_nothing_on_the_line(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(self: Assembler, event: Event) -> tuple[Record_, ...]:
        raise RuntimeError("planted")

    monkeypatch.setattr(Assembler, "feed", faulty)
    asked, told = frame(create(), mask=MASK), b"".join(map(frame, events("r1", "yes")))

    def talk(connection: socket.socket) -> None:
        for _ in range(2):
            receive(connection, len(asked))
            connection.sendall(told)

    recording.upstream.answer = upgraded(talk)
    with connected(recording.recorder.openai_url) as client:
        for _ in range(2):
            client.send(asked)
            assert client.read_until(told[-20:]) == told
        assert client.read_all() == b""
    assert recording.stop().listen_errors > 0


def test_nothing_that_was_said_stays_in_memory(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[int] = []
    heard = Hooks.tcp_message

    def watched(self: Hooks, flow: tcp.TCPFlow) -> None:
        heard(self, flow)
        kept.append(len(flow.messages))

    monkeypatch.setattr(Hooks, "tcp_message", watched)
    asked, told = frame(create(), mask=MASK), b"".join(map(frame, events("r1", "yes")))

    def talk(connection: socket.socket) -> None:
        for _ in range(5):
            receive(connection, len(asked))
            connection.sendall(told)

    recording.upstream.answer = upgraded(talk)
    with connected(recording.recorder.openai_url) as client:
        for _ in range(5):
            client.send(asked)
            client.read_until(told[-20:])
    assert len(recording.exchanges()) == 5
    assert set(kept) == {0}
