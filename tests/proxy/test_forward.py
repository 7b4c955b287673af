"""The forward proxy, against a real TLS upstream on loopback."""

from __future__ import annotations

import base64
import contextlib
import socket
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from proxy.forward import FORWARD_HOSTS, is_public
from tests.proxy.certificates import make_authority, server_context
from tests.proxy.conftest import Record, Recording
from tests.proxy.loopback import EVENT, OK_JSON, SSE_HEAD, TIMEOUT_S, Client, Upstream, answer_with, chunked

ADA = "ada-0123456789abcdef"


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    return make_authority(tmp_path / "upstream-ca")


@pytest.fixture
def secure(tmp_path: Path, authority: Path) -> Iterator[Upstream]:
    server = Upstream(server_context(authority.parent))
    yield server
    server.close()


@pytest.fixture
def record_forward(record: Record, tmp_path: Path, authority: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    """Upstream certificates of the test's own authority are trusted, as a provider's is in life."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))

    def start(**changes: object) -> Recording:
        return record(**{"forward_port": 0, "forward_ca": tmp_path / "ca", "forward_hosts": ("LocalHost",)} | changes)

    return start


@contextlib.contextmanager
def tunnel(recording: Recording, host: str, port: int, trusted: Path, *headers: str) -> Iterator[Client]:
    """A client that went through CONNECT and TLS, trusting one authority alone."""
    url = recording.recorder.listening.forward_url
    assert url is not None
    with Client(url) as client:
        lines = [f"CONNECT {host}:{port} HTTP/1.1", f"Host: {host}:{port}", *headers, "", ""]
        client.send("\r\n".join(lines).encode())
        assert client.read_until(b"\r\n\r\n").startswith(b"HTTP/1.1 200 ")
        context = ssl.create_default_context(cafile=trusted)
        client.socket = context.wrap_socket(client.socket, server_hostname=host)
        yield client


def ca_file(tmp_path: Path) -> Path:
    return tmp_path / "ca" / "agentreel-ca-cert.pem"


def test_a_listed_host_is_opened_passed_on_and_recorded_with_its_mode(
    record_forward: Record, secure: Upstream, tmp_path: Path
) -> None:
    recording = record_forward()
    secure.answer = answer_with(SSE_HEAD + chunked(EVENT) + b"0\r\n\r\n")
    with tunnel(recording, "localhost", secure.port, ca_file(tmp_path)) as client:
        client.send(
            f"POST /v1/messages?x=1 HTTP/1.1\r\nhost: localhost:{secure.port}\r\nX-Api-Key: k\r\n"
            "x-claude-code-session-id: s1\r\nContent-Length: 13\r\n\r\n".encode()
            + b'{"model":"m"}'
        )
        assert b"".join(client.response()) == SSE_HEAD + chunked(EVENT) + b"0\r\n\r\n"
    heard = secure.next_request()
    assert heard.head.startswith(f"POST /v1/messages?x=1 HTTP/1.1\r\nhost: localhost:{secure.port}\r\n".encode())
    exchange = recording.only_exchange()
    request = exchange.request
    assert (request.mode, request.upstream) == ("forward", f"https://localhost:{secure.port}")
    assert (request.api, request.identity.session_id, exchange.end) == ("anthropic-messages", "s1", "complete")


def test_requests_to_base_urls_are_recorded_as_reverse(recording: Recording) -> None:
    with Client(recording.url) as client:
        client.post("/v1/messages")
        client.response()
    assert recording.only_exchange().request.mode == "reverse"


@pytest.mark.parametrize("path", ["/api/event_logging/batch", "/v1/metrics", "/codex/analytics-events/events"])
def test_telemetry_passes_and_leaves_no_trace(
    record_forward: Record, secure: Upstream, tmp_path: Path, path: str
) -> None:
    recording = record_forward()
    with tunnel(recording, "localhost", secure.port, ca_file(tmp_path)) as client:
        client.post(path, b"canary")
        assert b"".join(client.response()) == OK_JSON
    assert secure.next_request().body == b"canary"
    assert recording.exchanges() == []
    assert sorted(file.name for file in recording.captures.iterdir()) == ["captures.json"]


def test_another_host_is_tunnelled_unseen(
    record_forward: Record, secure: Upstream, authority: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client sees the upstream's own certificate; its bytes are not looked at."""
    monkeypatch.setattr("proxy.forward.is_public", lambda _address: True)
    recording = record_forward(forward_hosts=())
    with tunnel(recording, "localhost", secure.port, authority) as client:
        client.post("/v1/messages", b"canary")
        assert b"".join(client.response()) == OK_JSON
    assert recording.exchanges() == []


def test_a_tunnel_does_not_lead_to_this_machine(record_forward: Record, upstream: Upstream) -> None:
    recording = record_forward(forward_hosts=())
    url = recording.recorder.listening.forward_url
    assert url is not None
    for host in ("127.0.0.1", "localhost", "no.such.host.invalid"):
        with Client(url) as client:
            client.send(f"CONNECT {host}:{upstream.port} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            client.read_until(b"\r\n\r\n")
            client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b" 200 OK" not in client.read_all()
    assert upstream.requests.empty()


def test_a_request_without_a_tunnel_goes_to_listed_hosts_only(record_forward: Record, upstream: Upstream) -> None:
    recording = record_forward()
    url = recording.recorder.listening.forward_url
    assert url is not None
    with Client(url) as client:
        client.send(b"GET http://169.254.169.254/latest HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n")
        assert client.response()[0].startswith(b"HTTP/1.1 421 ")
        client.send(f"GET http://localhost:{upstream.port}/v1/models HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert client.response()[0].startswith(b"HTTP/1.1 200 ")
    assert upstream.next_request().line == b"GET /v1/models HTTP/1.1"
    assert recording.only_exchange().request.path == "/v1/models"


def test_tokens_are_the_proxys_password_and_go_no_further(
    record_forward: Record, secure: Upstream, tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"ada: {ADA}\n")
    tokens.chmod(0o600)
    recording = record_forward(token_file=tokens)
    url = recording.recorder.listening.forward_url
    assert url is not None
    with Client(url) as client:
        client.send(f"CONNECT localhost:{secure.port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert client.read_until(b"\r\n\r\n").startswith(b"HTTP/1.1 407 ")
    password = "Proxy-Authorization: Basic " + base64.b64encode(f"any:{ADA}".encode()).decode()
    with tunnel(recording, "localhost", secure.port, ca_file(tmp_path), password) as client:
        client.post("/v1/messages")
        client.response()
    assert b"roxy-" not in secure.next_request().head
    assert recording.only_exchange().request.contributor == "ada"


def test_the_authority_is_private_and_made_only_when_asked_for(record_forward: Record, tmp_path: Path) -> None:
    record_forward(forward_port=None).stop()
    assert not (tmp_path / "ca").exists()
    record_forward().stop()
    assert stat.S_IMODE((tmp_path / "ca").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "ca" / "agentreel-ca.pem").stat().st_mode) == 0o600


def test_the_forward_listener_stays_on_loopback(record_forward: Record) -> None:
    recording = record_forward(host="0.0.0.0", insecure_bind=True)
    url = recording.recorder.listening.forward_url
    assert url is not None
    assert url.startswith("http://127.0.0.1:")
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", int(url.rpartition(":")[2])), timeout=TIMEOUT_S)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.215.14", True),
        ("2606:2800::1", True),
        ("127.0.0.1", False),
        ("10.0.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("2002:7f00:1::", False),
    ],
)
def test_public_addresses(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_only_providers_hosts_are_listed() -> None:
    assert {"api.anthropic.com", "api.openai.com", "chatgpt.com"} <= FORWARD_HOSTS
    assert all(host == host.lower() and "*" not in host for host in FORWARD_HOSTS)
