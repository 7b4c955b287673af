"""What a client's handler does besides the short way of answers, over real sockets."""

from __future__ import annotations

import socket
import threading

import pytest

from proxy.gate import Gate
from tests.proxy.conftest import Recording
from tests.proxy.loopback import TIMEOUT_S, Client

HALF = b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n01234"  # of a request


def test_a_listener_that_fails_keeps_no_other_from_the_hook(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gate's turn comes before that of the addon which hears."""

    def fail(_self: Gate, _client: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(Gate, "client_disconnected", fail)
    with Client(recording.url) as client:
        client.send(HALF)
        client.socket.shutdown(socket.SHUT_WR)
        assert client.read_all() == b""
    assert recording.only_exchange().end == "client_abort"


def connected(recording: Recording) -> Client:
    """A client whose connection has one to the server behind it."""
    client = Client(recording.url)
    client.post("/v1/messages", b'{"n":1}')
    client.response()
    assert recording.upstream.next_request().body == b'{"n":1}'
    return client


def answer_and_leave(connection: socket.socket, answer: bytes) -> None:
    connection.sendall(answer)
    raise ConnectionAbortedError


def leave(_connection: socket.socket) -> None:
    raise ConnectionResetError


def test_a_body_is_passed_on_while_it_comes_where_the_server_is_known_to_be_there(recording: Recording) -> None:
    """The server hears the first half before the client sends the second."""
    with connected(recording) as client:
        begun = threading.Event()
        recording.upstream.on_body = lambda _connection: begun.set()
        client.send(HALF)
        assert begun.wait(TIMEOUT_S)
        client.send(b"56789")
        client.response()
    assert recording.upstream.next_request().body == b"0123456789"
    assert [e.request.body for e in recording.exchanges()] == [b'{"n":1}', b"0123456789"]


def test_a_server_that_leaves_while_it_is_sent_a_body_is_an_upstream_reset(recording: Recording) -> None:
    with connected(recording) as client:
        recording.upstream.on_body = leave
        client.send(HALF)
        assert client.read_all().startswith(b"HTTP/1.1 502 ")
    assert [e.end for e in recording.exchanges()] == ["complete", "upstream_reset"]


def test_an_answer_before_the_end_of_a_body_is_passed_on_and_recorded(recording: Recording) -> None:
    early = b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
    with connected(recording) as client:
        recording.upstream.on_body = lambda connection: answer_and_leave(connection, early)
        client.send(HALF)
        assert client.response() == (early[:-2], b"{}")
    exchange = recording.exchanges()[1]
    assert (exchange.end, exchange.request.body) == ("complete", b"01234")
    assert exchange.response is not None
    assert exchange.response.status == 413


def test_a_client_that_leaves_while_it_sends_a_body_is_a_client_abort(recording: Recording) -> None:
    with connected(recording) as client:
        begun = threading.Event()
        recording.upstream.on_body = lambda _connection: begun.set()
        client.send(HALF)
        assert begun.wait(TIMEOUT_S)
        client.socket.shutdown(socket.SHUT_WR)
        assert client.read_all() == b""
    assert [e.end for e in recording.exchanges()] == ["complete", "client_abort"]
