from __future__ import annotations

from dataclasses import replace

import orjson
import pytest
import zstandard

from corpus.exchange import Identity, RequestRecord, ResponseRecord
from proxy.annotator import Annotator
from tests.proxy.captured import claude_requests, codex_requests, needs_captures
from wire.usage import Usage

BODY = orjson.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]})
REQUEST = RequestRecord(
    exchange_id="e1",
    t_request_us=1,
    t_body_us=2,
    method="POST",
    path="/v1/messages",
    api="anthropic-messages",
    upstream="u",
    headers=(("X-Claude-Code-Session-Id", "s1"),),
    identity=Identity(),
    retry_of=None,
    body_bytes=len(BODY),
    body=BODY,
)


def events(*objects: dict[str, object]) -> bytes:
    return b"".join(b"event: %s\ndata: %s\n\n" % (str(o["type"]).encode(), orjson.dumps(o)) for o in objects)


STREAM = events(
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "model": "m",
            "role": "assistant",
            "content": [],
            "usage": {
                "input_tokens": 5,
                "cache_read_input_tokens": 7,
                "cache_creation_input_tokens": 0,
                "output_tokens": 1,
            },
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
    {"type": "message_stop"},
)
RESPONSE = ResponseRecord(
    exchange_id="e1",
    end="complete",
    status=200,
    headers=(("Content-Type", "text/event-stream"),),
    t_headers_us=3,
    t_first_byte_us=4,
    t_end_us=5,
    chunk_sizes=(),
    chunk_times_us=(),
    usage=None,
    error=None,
    body_bytes=len(STREAM),
    body=STREAM,
)


def test_response_goes_to_its_requests_session_with_usage() -> None:
    annotator = Annotator()
    assert annotator.annotate_request(REQUEST).identity.session_id == "s1"
    session_id, response = annotator.annotate_response(RESPONSE)
    assert session_id == "s1"
    assert response.usage == Usage(input_tokens=12, cache_read_tokens=7, cache_write_tokens=0, output_tokens=3)
    assert response.end == "complete"


def test_encoded_bodies_are_read_and_kept_as_they_are() -> None:
    packed = zstandard.ZstdCompressor().compress(BODY)
    annotator = Annotator()
    request = annotator.annotate_request(replace(REQUEST, headers=(("Content-Encoding", "zstd"),), body=packed))
    assert (request.identity.model, request.body) == ("m", packed)


def test_error_event_turns_a_complete_stream_into_sse_error() -> None:
    body = events({"type": "error", "error": {"type": "overloaded_error", "message": "m"}})
    annotator = Annotator()
    annotator.annotate_request(REQUEST)
    _, response = annotator.annotate_response(replace(RESPONSE, body=body))
    assert (response.end, response.error) == ("sse_error", "the stream carried an error event")


def test_a_client_that_leaves_on_the_last_event_has_heard_all_of_it() -> None:
    """Seen with Codex over POST: it hangs up before the stream's own end has come."""
    annotator = Annotator()
    annotator.annotate_request(REQUEST)
    _, response = annotator.annotate_response(replace(RESPONSE, end="client_abort", error="the client left"))
    assert (response.end, response.error) == ("complete", None)


def test_a_client_that_leaves_before_the_last_event_aborted() -> None:
    annotator = Annotator()
    annotator.annotate_request(REQUEST)
    _, response = annotator.annotate_response(replace(RESPONSE, end="client_abort", body=STREAM[:-40]))
    assert response.end == "client_abort"


def test_error_status_is_no_sse_error() -> None:
    body = b'{"type":"error","error":{"type":"overloaded_error","message":"m"}}'
    annotator = Annotator()
    annotator.annotate_request(REQUEST)
    failed = replace(RESPONSE, status=529, headers=(("Content-Type", "application/json"),), body=body)
    assert annotator.annotate_response(failed)[1].end == "complete"


@pytest.mark.parametrize(
    "failed",
    [
        replace(RESPONSE, status=529, body=b""),
        replace(RESPONSE, end="client_abort", body=STREAM[:-40]),
        replace(RESPONSE, end="upstream_reset"),
        replace(RESPONSE, body=STREAM[:-40]),  # ended early, cleanly as far as HTTP goes
    ],
)
def test_repetition_after_any_failure_is_a_retry(failed: ResponseRecord) -> None:
    annotator = Annotator()
    annotator.annotate_request(REQUEST)
    annotator.annotate_response(failed)
    assert annotator.annotate_request(replace(REQUEST, exchange_id="e2")).retry_of == "e1"


def test_repetition_after_success_is_no_retry() -> None:
    annotator = Annotator()
    annotator.annotate_request(REQUEST)
    annotator.annotate_response(RESPONSE)
    assert annotator.annotate_request(replace(REQUEST, exchange_id="e2")).retry_of is None


@pytest.mark.parametrize("body", [b"", b"\x00garbage", b"[]", b'{"messages": 3}'])
def test_broken_bodies_are_no_error(body: bytes) -> None:
    annotator = Annotator()
    request = annotator.annotate_request(replace(REQUEST, headers=(("content-encoding", "gzip"),), body=body))
    assert request.body == body
    _, response = annotator.annotate_response(replace(RESPONSE, headers=(("content-encoding", "br"),), body=body))
    assert response.usage is None


def test_response_without_a_known_request_is_kept() -> None:
    assert Annotator().annotate_response(RESPONSE)[0] is None


@needs_captures
def test_claude_retries_are_found_in_a_real_capture() -> None:
    """Answers of the recorded server: 429, 529, 500, 200, 200."""
    annotator = Annotator()
    records = [record for record in claude_requests("fault_429_529_500") if record.api != "other"]
    found = []
    for record, status in zip(records, (429, 529, 500, 200, 200), strict=True):
        found.append(annotator.annotate_request(record).retry_of)
        annotator.annotate_response(replace(RESPONSE, exchange_id=record.exchange_id, status=status))
    assert found == [None, "2", "3", "4", None]


@needs_captures
def test_codex_retries_are_found_in_a_real_capture() -> None:
    """Answers of the recorded server: 500, 503, 200, 200."""
    annotator = Annotator()
    records = [record for record in codex_requests("http_retry500") if record.api == "openai-responses"]
    found = []
    for record, status in zip(records, (500, 503, 200, 200), strict=True):
        found.append(annotator.annotate_request(record).retry_of)
        answer = replace(RESPONSE, exchange_id=record.exchange_id, status=status, body=b"")
        annotator.annotate_response(answer)
    assert found == [None, "3", "5", None]
