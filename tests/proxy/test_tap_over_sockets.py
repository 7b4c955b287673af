"""The short way of answers over real sockets, plain and through TLS."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import h2.connection
import h2.events
import pytest

from tests.proxy.certificates import make_authority, server_context
from tests.proxy.conftest import Record, Recording
from tests.proxy.loopback import (
    EVENT,
    OK_JSON,
    SSE_HEAD,
    TIMEOUT_S,
    Client,
    RawRequest,
    Upstream,
    answer_with,
    chunked,
    reset,
)

# A size as mitmproxy would never write it: who gets it as it is got it past mitmproxy's layers.
ODD = b"00A\r\n0123456789\r\n"
WHOLE = SSE_HEAD + chunked(EVENT) + ODD + b"0\r\n\r\n"


class Steps:
    """An upstream that says the next piece when it is told to."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = pieces
        self._go_on = threading.Semaphore(0)

    def __call__(self, connection: socket.socket, _request: RawRequest) -> None:
        for piece in self._pieces:
            connection.sendall(piece)
            assert self._go_on.acquire(timeout=TIMEOUT_S)

    def next(self) -> None:
        self._go_on.release()


def read_stream(client: Client, steps: Steps) -> bytes:
    """One answer of `WHOLE`, each piece of it read before the next is sent."""
    data = read_two_chunks(client, steps) + client.read_until(b"0\r\n\r\n")
    steps.next()
    return data


def read_two_chunks(client: Client, steps: Steps) -> bytes:
    """The pieces that `WHOLE` begins with, each read before the next is sent."""
    data = client.read_until(EVENT + b"\r\n")
    steps.next()
    data += client.read_until(b"0123456789\r\n")
    steps.next()
    return data


@pytest.fixture
def steps() -> Steps:
    return Steps(SSE_HEAD + chunked(EVENT), ODD, b"0\r\n\r\n")


@pytest.fixture
def secure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    """Speaks TLS under an authority of the test's own, which is trusted."""
    authority = make_authority(tmp_path / "upstream-ca")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    server = Upstream(server_context(authority.parent))
    yield server
    server.close()


@pytest.fixture(params=["plain", "tls"])
def either(request: pytest.FixtureRequest, record: Record, secure: Upstream) -> Recording:
    """Goes to its upstream over plain sockets, or through TLS."""
    if request.param == "plain":
        return record()
    recording = record(anthropic_upstream=secure.url.replace("127.0.0.1", "localhost"))
    recording.upstream = secure
    return recording


def test_chunks_pass_as_they_came_and_each_answer_is_its_own(either: Recording, steps: Steps) -> None:
    either.upstream.answer = steps
    with Client(either.url) as client:
        for _ in range(3):
            client.post("/v1/messages")
            assert read_stream(client, steps) == WHOLE
    exchanges = either.exchanges()
    assert [e.response.body for e in exchanges if e.response] == [EVENT + b"0123456789"] * 3
    assert [e.response.chunk_sizes for e in exchanges if e.response] == [(len(EVENT), 10)] * 3
    assert {e.end for e in exchanges} == {"complete"}


@pytest.mark.parametrize("first", [SSE_HEAD + chunked(EVENT) + b"0\r\n\r\n", OK_JSON])
def test_an_answer_in_one_piece_takes_nothing_of_the_next(recording: Recording, first: bytes) -> None:
    second = Steps(SSE_HEAD, chunked(EVENT), ODD + b"0\r\n\r\n")
    recording.upstream.answer = answer_with(first)
    with Client(recording.url) as client:
        client.post("/v1/messages")
        assert b"".join(client.response()) == first
        recording.upstream.answer = second
        client.post("/v1/messages")
        assert client.read_until(b"\r\n\r\n") == SSE_HEAD
        second.next()
        assert client.read_until(EVENT + b"\r\n") == chunked(EVENT)
        second.next()
        assert client.read_until(b"0\r\n\r\n") == ODD + b"0\r\n\r\n"
        second.next()
    response = recording.exchanges()[1].response
    assert response is not None
    assert response.body == EVENT + b"0123456789"


def test_a_client_that_reads_late_holds_the_server_up_and_gets_all_in_order(
    either: Recording,
) -> None:
    held_up = threading.Event()
    pieces = [b"%08d" % number * 2_000 for number in range(1_500)]  # 24 MB

    def answer(connection: socket.socket, _request: RawRequest) -> None:
        rest = memoryview(SSE_HEAD + b"".join(map(chunked, pieces)) + b"0\r\n\r\n")
        while rest:
            if not select.select([], [connection], [], 0.5)[1]:
                held_up.set()
                assert select.select([], [connection], [], TIMEOUT_S)[1]
            rest = rest[connection.send(rest[:65_536]) :]

    either.upstream.answer = answer
    with Client(either.url) as client:
        client.post("/v1/messages")
        assert held_up.wait(TIMEOUT_S)
        head, content = read_answer(client.socket)
    assert (head, content) == (SSE_HEAD, b"".join(pieces))
    exchange = either.only_exchange()
    assert exchange.response is not None
    assert exchange.response.body == b"".join(pieces)
    assert exchange.end == "complete"


def say_goodbye(connection: socket.socket) -> None:
    if isinstance(connection, ssl.SSLSocket):
        connection.settimeout(0.2)
        with contextlib.suppress(OSError):  # no answer is waited for
            connection.unwrap()
    connection.close()


@pytest.mark.parametrize("leave", [socket.socket.close, reset, say_goodbye])
def test_a_server_that_leaves_between_two_chunks_is_an_upstream_reset(
    either: Recording, leave: Callable[[socket.socket], None]
) -> None:
    begun = Steps(SSE_HEAD + chunked(EVENT), ODD)

    def answer(connection: socket.socket, request: RawRequest) -> None:
        begun(connection, request)
        leave(connection)
        raise ConnectionAbortedError

    either.upstream.answer = answer
    with Client(either.url) as client:
        client.post("/v1/messages")
        read_two_chunks(client, begun)
        assert client.read_all() == b""
    response = either.only_exchange().response
    assert response is not None
    assert (response.end, response.body) == ("upstream_reset", EVENT + b"0123456789")


def read_answer(connection: socket.socket) -> tuple[bytes, bytes]:
    """Head, and what its chunks hold."""
    content = []
    with connection.makefile("rb") as file:
        head = b"".join(iter(file.readline, b"\r\n")) + b"\r\n"
        while size := int(file.readline(), 16):
            content.append(file.read(size))
            assert file.readline() == b"\r\n"
    return head, b"".join(content)


@contextlib.contextmanager
def tunnel(record: Record, secure: Upstream, ca: Path, protocol: str) -> Iterator[tuple[Recording, Client]]:
    """A recorder, and a client that went through CONNECT and TLS to the upstream behind it."""
    recording = record(forward_port=0, forward_ca=ca, forward_hosts=("localhost",))
    url = recording.recorder.listening.forward_url
    assert url is not None
    with Client(url) as client:
        client.send(f"CONNECT localhost:{secure.port} HTTP/1.1\r\nHost: localhost:{secure.port}\r\n\r\n".encode())
        client.read_until(b"\r\n\r\n")
        trusted = ssl.create_default_context(cafile=ca / "agentreel-ca-cert.pem")
        trusted.set_alpn_protocols([protocol])
        secured = trusted.wrap_socket(client.socket, server_hostname="localhost")
        assert secured.selected_alpn_protocol() == protocol
        client.socket = secured
        yield recording, client


def test_inside_a_forward_proxys_tunnel_too(record: Record, secure: Upstream, steps: Steps, tmp_path: Path) -> None:
    secure.answer = steps
    with tunnel(record, secure, tmp_path / "ca", "http/1.1") as (recording, client):
        client.post("/v1/messages", headers=(f"Host: localhost:{secure.port}",))
        assert read_stream(client, steps) == WHOLE
    assert recording.only_exchange().end == "complete"


def test_a_client_that_speaks_http_2_gets_frames_and_no_chunks(
    record: Record, secure: Upstream, steps: Steps, tmp_path: Path
) -> None:
    secure.answer = steps
    fields = {":method": "POST", ":path": "/v1/messages", ":scheme": "https", ":authority": f"localhost:{secure.port}"}
    with tunnel(record, secure, tmp_path / "ca", "h2") as (recording, client):
        spoken = h2.connection.H2Connection()
        spoken.initiate_connection()
        spoken.send_headers(1, list(fields.items()))
        spoken.send_data(1, b"{}", end_stream=True)
        client.send(spoken.data_to_send())
        heard = b""
        while b"0123456789" not in heard:
            for event in spoken.receive_data(client.socket.recv(65536)):
                if isinstance(event, h2.events.DataReceived):
                    heard += event.data
                    steps.next()
        steps.next()
    assert heard == EVENT + b"0123456789"
    assert recording.only_exchange().request.body == b"{}"


def test_what_is_not_recorded_passes_as_it_came(recording: Recording, steps: Steps) -> None:
    recording.upstream.answer = steps
    with Client(recording.url) as client:
        client.post("/v1/messages", headers=("x-agentreel-record: off",))
        assert read_stream(client, steps) == WHOLE
    assert recording.exchanges() == []


def test_a_client_that_leaves_in_the_middle_ends_the_exchange(recording: Recording) -> None:
    gone, unended = threading.Event(), Steps(SSE_HEAD + chunked(EVENT), ODD)

    def until_gone(connection: socket.socket, request: RawRequest) -> None:
        unended(connection, request)
        assert connection.recv(1) == b""  # the recorder hangs up, too
        gone.set()

    recording.upstream.answer = until_gone
    with Client(recording.url) as client:
        client.post("/v1/messages")
        read_two_chunks(client, unended)
    assert gone.wait(TIMEOUT_S)
    response = recording.only_exchange().response
    assert response is not None
    assert (response.end, response.body) == ("client_abort", EVENT + b"0123456789")
