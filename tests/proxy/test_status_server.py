from __future__ import annotations

import http.client
import json

import pytest

from proxy.status_server import StatusServer
from proxy.totals import Snapshot
from tests.proxy.conftest import Record
from tests.proxy.loopback import Client

HOST = b"Host: 127.0.0.1:1\r\n"


@pytest.fixture
def paused() -> list[bool]:
    return []


@pytest.fixture
def server(paused: list[bool]) -> StatusServer:
    return StatusServer(lambda: Snapshot(counts={"requests": 7}), paused.append)


def answer(server: StatusServer, line: bytes, headers: bytes = HOST) -> bytes:
    return server.answer(line + b" HTTP/1.1\r\n" + headers + b"\r\n", 0).encode()


def test_pages(server: StatusServer) -> None:
    assert b"agentreel_requests_total 7\n" in answer(server, b"GET /metrics")
    assert b"7 requests" in answer(server, b"GET /")
    assert answer(server, b"GET /other").startswith(b"HTTP/1.1 404 ")
    assert answer(server, b"PUT /").startswith(b"HTTP/1.1 405 ")
    assert json.loads(answer(server, b"GET /status.json").partition(b"\r\n\r\n")[2])["requests"] == 7


def test_another_hosts_page_gets_nothing(server: StatusServer, paused: list[bool]) -> None:
    for host in (b"", b"Host: evil.example\r\n"):
        assert answer(server, b"GET /", host).startswith(b"HTTP/1.1 403 ")
        assert answer(server, b"POST /pause", host).startswith(b"HTTP/1.1 403 ")
    for origin in (b"Origin: https://evil.example\r\n", b"Origin: null\r\n", b"Sec-Fetch-Site: cross-site\r\n"):
        assert answer(server, b"POST /pause", HOST + origin).startswith(b"HTTP/1.1 403 ")
    assert paused == []


def test_the_switch_goes_both_ways(server: StatusServer, paused: list[bool]) -> None:
    assert b"303 See Other" in answer(server, b"POST /pause")
    assert b"303 See Other" in answer(server, b"POST /resume", HOST + b"Origin: http://127.0.0.1:0\r\n")
    assert answer(server, b"POST /stop").startswith(b"HTTP/1.1 404 ")
    assert paused == [True, False]


def test_rubbish_is_answered_or_closed(server: StatusServer) -> None:
    for head in (b"\r\n\r\n", b"GET\r\n\r\n", b"\xff\xfe \xff\r\nHost: 127.0.0.1\r\n\r\n"):
        assert server.answer(head, 0).encode().startswith(b"HTTP/1.1 4")


def test_a_running_recorder_tells_and_can_be_paused(record: Record) -> None:
    recording = record(status_port=0)
    url = recording.recorder.listening.status_url
    assert url is not None
    with Client(recording.url) as client:
        client.post("/v1/messages", headers=("x-claude-code-session-id: s-77",))
        client.response()
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
    connection.request("POST", "/pause")
    assert connection.getresponse().read() == b""
    assert recording.recorder.snapshot().paused
    connection.close()
    connection.request("GET", "/metrics")
    reply = connection.getresponse()
    assert reply.getheader("content-type") == "text/plain; version=0.0.4; charset=utf-8"
    assert b"agentreel_recording_paused 1\n" in reply.read()
    connection.close()
