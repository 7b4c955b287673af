"""How listening starts and stops, against the real mitmproxy."""

from __future__ import annotations

import asyncio
import io
import logging
import socket
import ssl
import threading
import time
import unittest.mock
from pathlib import Path

import pytest
from mitmproxy.proxy import server

from corpus.errors import InputError
from proxy.engine import Engine
from proxy.listeners import WideReader
from tests.proxy.certificates import make_authority, server_context, server_files
from tests.proxy.conftest import Record, Recording
from tests.proxy.loopback import (
    EVENT,
    OK_JSON,
    SSE_HEAD,
    TIMEOUT_S,
    Client,
    RawRequest,
    Upstream,
    chunked,
    wait_refused,
)


def test_upstream_that_speaks_no_tls_is_tls_failed(record: Record, recording_port: int) -> None:
    recording = record(anthropic_upstream=f"https://127.0.0.1:{recording_port}")
    with Client(recording.url) as client:
        client.post("/v1/messages")
        assert client.read_all().startswith(b"HTTP/1.1 502 ")
    assert recording.only_exchange().end == "tls_failed"


@pytest.fixture
def recording_port() -> int:
    """Port of a server that answers everything with one plain line and closes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listener, listener.accept()[0] as connection:
            connection.recv(1)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    threading.Thread(target=serve, daemon=True).start()
    return int(listener.getsockname()[1])


def test_stopping_ends_streams_in_flight_and_says_so(recording: Recording) -> None:
    recording.upstream.answer = lambda connection, _request: connection.sendall(SSE_HEAD + chunked(EVENT))
    with Client(recording.url) as client:
        client.post("/v1/messages")
        client.read_until(EVENT)
        totals = recording.stop()
        assert client.read_all() == b"\r\n"
    assert totals.ends == {"proxy_shutdown": 1}
    assert recording.only_exchange().end == "proxy_shutdown"


def test_stopping_gives_streams_in_flight_their_grace(record: Record) -> None:
    recording = record(grace_s=TIMEOUT_S)
    go_on = threading.Event()

    def wait_then_finish(connection: socket.socket, _request: RawRequest) -> None:
        connection.sendall(SSE_HEAD + chunked(EVENT))
        assert go_on.wait(TIMEOUT_S)
        connection.sendall(chunked(EVENT) + b"0\r\n\r\n")

    recording.upstream.answer = wait_then_finish
    with Client(recording.url) as client:
        client.post("/v1/messages")
        client.read_until(EVENT)
        stopping = threading.Thread(target=recording.stop)
        stopping.start()
        wait_refused(recording.url)
        go_on.set()
        client.read_until(b"0\r\n\r\n")
        stopping.join(TIMEOUT_S)
    assert recording.only_exchange().end == "complete"


def test_port_in_use_is_one_line_naming_the_port(record: Record) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"^port {port}: is already in use"):
            record(openai_port=port)
    record().stop()  # and the next one starts


def test_upstream_with_a_private_certificate_is_refused_by_default(record: Record, tmp_path: Path) -> None:
    """TLS to upstreams is verified; the request never reaches a server that nobody vouches for."""
    secure = Upstream(_self_signed(tmp_path))
    recording = record(anthropic_upstream=secure.url)
    with Client(recording.url) as client:
        client.post("/v1/messages")
        assert client.read_all().startswith(b"HTTP/1.1 502 ")
    secure.close()
    assert secure.requests.empty()
    assert recording.only_exchange().end == "tls_failed"


def test_upstream_with_a_trusted_certificate_is_spoken_to(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secure = Upstream(_self_signed(tmp_path))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca" / "ca-ca-cert.pem"))
    recording = record(openai_upstream=f"{secure.url}/base")
    with Client(recording.recorder.openai_url) as client:
        client.post("/v1/responses")
        assert b"".join(client.response()) == OK_JSON
    secure.close()
    assert secure.next_request().line == b"POST /base/responses HTTP/1.1"
    assert recording.only_exchange().end == "complete"


def _self_signed(directory: Path) -> ssl.SSLContext:
    return server_context(directory / "ca")


def test_clients_speak_tls_where_a_certificate_was_given(record: Record, tmp_path: Path) -> None:
    authority = make_authority(tmp_path / "ca")
    cert, key = server_files(tmp_path / "ca")
    recording = record(tls_cert=cert, tls_key=key)
    assert recording.url.startswith("https://127.0.0.1:")
    context = ssl.create_default_context(cafile=authority)
    recording.upstream.answer = lambda connection, _request: connection.sendall(
        SSE_HEAD + chunked(EVENT) + b"0\r\n\r\n"
    )
    with Client(recording.url.replace("https", "http")) as client:
        client.socket = context.wrap_socket(client.socket, server_hostname="127.0.0.1")
        client.post("/v1/messages", b"x" * 1_000_000)
        assert b"".join(client.response()) == SSE_HEAD + chunked(EVENT) + b"0\r\n\r\n"
    with Client(recording.url.replace("https", "http")) as client:
        client.post("/v1/messages")
        assert client.read_all() == b""  # plain text gets no answer
    assert recording.only_exchange().request.body_bytes == 1_000_000


def test_after_350_seconds_of_silence_a_stream_has_an_hour_left(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watchdog of a live connection, asked on a clock of the test's own what it would wait for."""
    recording.upstream.answer = lambda connection, _request: connection.sendall(SSE_HEAD + chunked(EVENT))
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        raise asyncio.CancelledError

    with Client(recording.url) as client:
        client.post("/v1/messages")
        client.read_until(EVENT)
        crew = recording.recorder._crew
        assert isinstance(crew, Engine)
        (handler,) = crew._listeners._server.connections.values()

        async def watch() -> None:
            cut = unittest.mock.AsyncMock()
            watchdog = server.TimeoutWatchdog(handler.timeout_watchdog.timeout, cut)
            watchdog.last_activity = time.time() - 350
            monkeypatch.setattr(asyncio, "sleep", sleep)
            await watchdog.watch()  # type: ignore[no-untyped-call]
            monkeypatch.undo()
            cut.assert_not_awaited()

        asyncio.run(watch())
    assert waits[0] > 3600


def test_nothing_of_a_request_reaches_the_log(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    """Listens where programs do, on the root logger; pytest's own capture goes around `propagate`."""
    log = io.StringIO()
    monkeypatch.setattr(logging.getLogger(), "handlers", [logging.StreamHandler(log)])
    monkeypatch.setattr(logging.getLogger(), "level", logging.DEBUG)
    recording = record()
    for sent in (b"GET / HTTP/1.1\r\nAuthorization: canary", b"no http, canary\r\n\r\n", b"\x16\x03\x01canary"):
        with Client(recording.url) as client:
            client.send(sent)
            client.socket.shutdown(socket.SHUT_WR)
            client.read_all()
    logging.getLogger("mitmproxy.planted").error("here is the %s", "canary")
    recording.stop()
    assert "mitmproxy reported a problem: ERROR at test_listeners:" in log.getvalue()
    assert "canary" not in log.getvalue()


def test_an_ordinary_request_leaves_nothing_in_the_log(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    log = io.StringIO()
    monkeypatch.setattr(logging.getLogger(), "handlers", [logging.StreamHandler(log)])
    recording = record()
    with Client(recording.url) as client:
        client.post("/v1/messages")
        client.read_until(b"{}")
    recording.stop()
    assert log.getvalue() == ""


def test_the_root_logger_keeps_its_handlers_and_gets_none(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    handler = logging.NullHandler()
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler])
    record()
    assert logging.getLogger().handlers == [handler]


def test_no_file_of_mitmproxy_is_made(record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    record().stop()
    assert not (tmp_path / "home").exists()


async def test_a_reader_gives_all_that_has_come_however_little_was_asked_for() -> None:
    reader = WideReader(1 << 20, asyncio.get_running_loop())
    reader.feed_data(b"x" * 200_000)
    assert len(await reader.read(65535)) == 200_000
    reader.feed_data(b"rest")
    reader.feed_eof()
    assert await reader.read(65535) == b"rest"
    assert await reader.read(65535) == b""
