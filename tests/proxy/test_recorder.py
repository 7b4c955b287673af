"""The whole recorder: what is stored, and what never is."""

from __future__ import annotations

import base64
import dataclasses
import logging
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from corpus.capture.reader import open_captures
from corpus.errors import InputError
from tests.proxy.conftest import Record, Recording
from tests.proxy.loopback import (
    EVENT,
    OK_JSON,
    SSE_HEAD,
    TIMEOUT_S,
    Client,
    Upstream,
    answer_with,
    chunked,
    wait_refused,
)


def test_error_event_in_the_stream_is_sse_error(recording: Recording) -> None:
    error = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"m"}}\n\n'
    recording.upstream.answer = answer_with(SSE_HEAD + chunked(error) + b"0\r\n\r\n")
    with Client(recording.url) as client:
        client.post("/v1/messages", b'{"model":"m","messages":[],"stream":true}')
        client.response()
    assert recording.only_exchange().end == "sse_error"


def test_a_repeated_request_names_the_failed_one(recording: Recording) -> None:
    answers = iter([b"HTTP/1.1 529 Busy\r\nContent-Length: 0\r\n\r\n", OK_JSON])
    recording.upstream.answer = lambda connection, _request: connection.sendall(next(answers))
    with Client(recording.url) as client:
        for _ in range(2):
            client.post("/v1/messages", b'{"model":"m"}', ("X-Claude-Code-Session-Id: s1",))
            client.response()
    first, second = recording.exchanges()
    assert first.request.retry_of is None
    assert second.request.retry_of == first.request.exchange_id


def test_totals_count_what_was_stored(recording: Recording) -> None:
    with Client(recording.url) as client:
        for _ in range(3):
            client.post("/v1/messages", b"12345")
            client.response()
    totals = recording.stop()
    assert (totals.requests, totals.responses, totals.request_bytes, totals.response_bytes) == (3, 3, 15, 6)
    assert (totals.dropped, totals.write_errors, totals.listen_errors) == (0, 0, 0)
    assert totals.ends == {"complete": 3}


def test_unusable_settings_are_refused_before_anything_listens(record: Record) -> None:
    with pytest.raises(InputError, match=r"^--openai-upstream: "):
        record(openai_upstream="ftp://host")
    with pytest.raises(InputError, match=r"^--openai-port: "):
        record(openai_port=65536)
    with pytest.raises(InputError, match=r"^--host: "):
        record(host="0.0.0.0")


def test_files_are_private(recording: Recording) -> None:
    with Client(recording.url) as client:
        client.post("/v1/messages")
        client.response()
    recording.stop()
    assert recording.captures.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in recording.captures.iterdir()} == {0o600}


CANARY = b"canary-5ecre7"
SECRETS = (
    "Authorization: Bearer {}",
    "Proxy-Authorization: Basic {}",
    "x-api-key: {}",
    "X-Goog-Api-Key: {}",
    "Cookie: session={}",
    "chatgpt-account-id: {}",
    "openai-organization: {}",
    "x-my-session-token: {}",
    "{}: odd",
)


def test_no_secret_is_ever_stored_or_logged(recording: Recording, caplog: pytest.LogCaptureFixture) -> None:
    """Credentials in headers and queries of a request, in headers of its answer, in bodies of a sign-in."""
    canary = CANARY.decode()
    answer = f"HTTP/1.1 200 OK\r\nSet-Cookie: a={canary}\r\nx-codex-turn-state: {canary}\r\nContent-Length: 0\r\n\r\n"
    sign_in = f"HTTP/1.1 200 OK\r\nx-note: {canary}\r\nContent-Length: {len(canary)}\r\n\r\n{canary}"
    recording.upstream.answer = lambda connection, request: connection.sendall(
        (sign_in if b"/oauth/" in request.line else answer).encode()
    )
    caplog.set_level(logging.DEBUG)
    with Client(recording.recorder.openai_url) as client:
        headers = tuple(header.format(canary) for header in SECRETS[:-1])
        client.post(f"/v1/responses?key={canary}&access_token={canary}&tag=sk-{canary}", b'{"model":"m"}', headers)
        client.response()
        client.post(f"/v1/oauth/token?x={canary}", CANARY, (f"Accept: {canary}",))
        client.response()
    heard = [recording.upstream.next_request() for _ in range(2)]
    assert heard[0].head.count(CANARY) == len(headers) - 1 + 3  # what was meant for a proxy ends here
    assert (heard[1].head.count(CANARY), heard[1].body) == (2, CANARY)

    first, second = recording.exchanges()
    for exchange in (first, second):
        assert canary not in repr(dataclasses.asdict(exchange))
    assert first.request.body == b'{"model":"m"}'
    assert second.request.path == "/v1/oauth/token"
    assert second.response is not None
    assert (second.request.headers, second.response.headers, second.response.status) == ((), (), 200)
    for form in (CANARY, base64.b64encode(CANARY), CANARY[:8]):
        assert not [file for file in recording.captures.iterdir() if form in file.read_bytes()]
    assert canary not in caplog.text


SCRIPT = """
import sys
from pathlib import Path
from proxy.recorder import RecordSettings, run_recorder
settings = RecordSettings(
    Path(sys.argv[1]), anthropic_port=0, openai_port=0, anthropic_upstream=sys.argv[2], grace_s=60.0
)
totals = run_recorder(settings, lambda listening: print(listening.anthropic_url, flush=True))
print(totals.ends, flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_and_a_second_one_ends_the_grace(
    number: signal.Signals, upstream: Upstream, tmp_path: Path
) -> None:
    upstream.answer = lambda connection, _request: connection.sendall(SSE_HEAD + chunked(EVENT))
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "captures"), upstream.url]
    with subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with Client(url) as client:
            client.post("/v1/messages")
            client.read_until(EVENT)
            process.send_signal(number)
            wait_refused(url)
            process.send_signal(number)
            client.read_all()
        assert process.stdout.readline() == "{'proxy_shutdown': 1}\n"
        assert process.wait(TIMEOUT_S) == 0
    (exchange,) = open_captures(tmp_path / "captures").exchanges()
    assert exchange.end == "proxy_shutdown"


def test_one_recorder_at_a_time(recording: Recording, record: Record) -> None:
    with pytest.raises(RuntimeError, match="already running"):
        record()
    recording.stop()
    record().stop()
