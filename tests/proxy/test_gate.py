"""The gate in the real recorder: who passes, what is taken off, what is recorded."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from corpus.capture.reader import open_captures
from corpus.exchange import GapRecord
from tests.proxy.conftest import Record, Recording
from tests.proxy.loopback import Client
from tests.proxy.websockets import MASK, connected, create, events, frame, receive, upgraded

ADA, BOB = "ada-0123456789abcdef", "bob-0123456789abcdef"


@pytest.fixture
def guarded(record: Record, tmp_path: Path) -> Recording:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"ada: {ADA}\nbob: {BOB}\n")
    tokens.chmod(0o600)
    return record(token_file=tokens, allow_hosts=("box.lan",))


def status(client: Client) -> bytes:
    return client.response()[0].split(b" ")[1]


@pytest.mark.parametrize("by", ["header", "path", "both"])
def test_a_token_lets_in_is_taken_off_and_names_the_contributor(guarded: Recording, by: str) -> None:
    headers = () if by == "path" else (f"X-AgentReel-Token: {ADA}",)
    prefix = "" if by == "header" else f"/t/{ADA}"
    with Client(guarded.url) as client:
        client.post(f"{prefix}/v1/messages?beta=true", headers=headers)
        assert status(client) == b"200"
    heard = guarded.upstream.next_request()
    assert heard.line == b"POST /v1/messages?beta=true HTTP/1.1"
    assert ADA.encode() not in heard.head
    assert b"agentreel" not in heard.head.lower()
    exchange = guarded.only_exchange()
    assert (exchange.request.contributor, exchange.request.path) == ("ada", "/v1/messages?beta=true")
    assert ADA not in repr(exchange)


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/v1/messages", ()),
        ("/v1/messages", ("x-agentreel-token: wrong-0123456789abcdef",)),
        ("/t/wrong-0123456789abcdef/v1/messages", ()),
        ("/t/", ()),
        (f"/t/{ADA}/v1/messages", (f"x-agentreel-token: {BOB}",)),  # as whom?
        (f"/t/{ADA}/v1/messages", ("x-agentreel-token: wrong-0123456789abcdef",)),
    ],
)
def test_without_a_good_token_nothing_passes_and_nothing_is_stored(
    guarded: Recording, path: str, headers: tuple[str, ...]
) -> None:
    with Client(guarded.url) as client:
        client.post(path, headers=headers)
        assert status(client) == b"401"
    assert guarded.upstream.requests.empty()
    assert guarded.exchanges() == []
    assert guarded.stop().refused == {"401": 1}


def test_a_token_header_goes_no_further_where_none_is_asked_for(recording: Recording) -> None:
    with Client(recording.url) as client:
        client.post("/v1/messages", headers=(f"x-agentreel-token: {ADA}",))
        assert status(client) == b"200"
    assert b"agentreel" not in recording.upstream.next_request().head
    assert ADA not in repr(recording.only_exchange())


@pytest.mark.parametrize(
    "lines",
    [
        ("Host: evil.example",),
        (),
        ("Host: 127.0.0.1", "Origin: https://evil.example"),
        ("Host: 127.0.0.1", "Sec-Fetch-Site: cross-site"),
    ],
)
def test_what_a_web_page_would_send_is_refused(recording: Recording, lines: tuple[str, ...]) -> None:
    with Client(recording.url) as client:
        client.send("\r\n".join(["GET /v1/models HTTP/1.1", *lines, "", ""]).encode())
        assert status(client) == b"403"
    assert recording.upstream.requests.empty()
    assert recording.exchanges() == []


def test_a_name_of_this_machine_can_be_allowed(guarded: Recording) -> None:
    with Client(guarded.url) as client:
        client.send(f"GET /t/{ADA}/v1/models HTTP/1.1\r\nHost: BOX.lan:8801\r\n\r\n".encode())
        assert status(client) == b"200"


def test_connect_is_refused(recording: Recording) -> None:
    with Client(recording.url) as client:
        client.send(b"CONNECT api.anthropic.com:443 HTTP/1.1\r\nHost: api.anthropic.com:443\r\n\r\n")
        assert client.read_all().startswith(b"HTTP/1.1 400 ")
    assert recording.upstream.requests.empty()


def test_an_absolute_target_is_refused_without_asking_anyone(recording: Recording) -> None:
    with Client(recording.url) as client:
        client.send(b"GET http://169.254.169.254/latest HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n")
        assert status(client) == b"400"
    assert recording.upstream.requests.empty()
    exchange = recording.only_exchange()
    assert (exchange.request.upstream, exchange.end) == ("", "complete")


def test_an_endless_refused_body_is_not_read_to_its_end(guarded: Recording) -> None:
    with Client(guarded.url) as client:
        client.send(
            b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
        )
        assert client.read_all() == b""
    assert guarded.exchanges() == []


def test_the_record_switch_is_taken_off_and_nothing_is_stored_of_the_exchange(recording: Recording) -> None:
    with Client(recording.url) as client:
        for switch in (("x-agentreel-record: off",), ("x-agentreel-record: on",), ()):
            client.post("/v1/messages", b"canary", ("x-claude-code-session-id: s1", *switch))
            assert status(client) == b"200"
    heard = [recording.upstream.next_request() for _ in range(3)]
    assert all(b"agentreel" not in request.head and request.body == b"canary" for request in heard)
    assert len(recording.exchanges()) == 2
    assert recording.stop().gaps == {"opted_out": 1}
    (gap,) = open_captures_gaps(recording.captures)
    assert (gap.cause, gap.count) == ("opted_out", 1)


def open_captures_gaps(path: Path) -> list[GapRecord]:
    captures = open_captures(path)
    captures.scan_all()
    return list(captures.gaps)


def test_paused_traffic_passes_unrecorded_until_it_is_resumed(recording: Recording) -> None:
    with Client(recording.url) as client:
        for number, paused in enumerate((False, True, True, False)):
            recording.recorder.pause(paused=paused)
            assert recording.recorder.snapshot().paused is paused
            client.post("/v1/messages", b"%d" % number)
            assert status(client) == b"200"
    assert [exchange.request.body for exchange in recording.exchanges()] == [b"0", b"3"]
    assert recording.stop().gaps == {"paused": 2}


def test_turns_on_an_open_websocket_are_paused_and_resumed_too(recording: Recording) -> None:
    """The connection was opened while recording was paused, and stays."""
    asked = [create(number) for number in range(3)]

    def talk(connection: socket.socket) -> None:
        for number, body in enumerate(asked):
            receive(connection, len(frame(body, mask=MASK)))
            connection.sendall(b"".join(frame(event) for event in events(f"r{number}", "yes")))

    recording.upstream.answer = upgraded(talk)
    recording.recorder.pause(paused=True)
    with connected(recording.recorder.openai_url, ("session-id", "s")) as client:
        for number, paused in enumerate((True, False, True)):
            recording.recorder.pause(paused=paused)
            client.send(frame(asked[number], mask=MASK))
            client.read_until(b'"output_tokens":2}}}')
    assert [exchange.request.body for exchange in recording.exchanges()] == [asked[1]]
    assert recording.stop().gaps == {"paused": 3}  # the handshake and two turns


def test_an_opted_out_websocket_passes_unheard(recording: Recording) -> None:
    def talk(connection: socket.socket) -> None:
        receive(connection, len(frame(create(), mask=MASK)))
        connection.sendall(b"".join(frame(event) for event in events("r", "yes")))

    recording.upstream.answer = upgraded(talk)
    with connected(recording.recorder.openai_url, ("x-agentreel-record", "off")) as client:
        client.send(frame(create(), mask=MASK))
        client.read_all()
    assert b"agentreel" not in recording.upstream.next_request().head
    assert recording.exchanges() == []
