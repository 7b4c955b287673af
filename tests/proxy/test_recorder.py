"""The whole recorder: what is stored, and what never is."""

from __future__ import annotations

import pytest

from corpus.errors import InputError
from tests.proxy.conftest import Record, Recording
from tests.proxy.loopback import OK_JSON, SSE_HEAD, Client, answer_with, chunked


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
    with pytest.raises(InputError, match=r"^--host: "):
        record(host="0.0.0.0")


def test_files_are_private(recording: Recording) -> None:
    with Client(recording.url) as client:
        client.post("/v1/messages")
        client.response()
    recording.stop()
    assert recording.captures.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in recording.captures.iterdir()} == {0o600}
