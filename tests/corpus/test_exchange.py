from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.exchange import End, Exchange, Identity, RequestRecord, ResponseRecord

REQUEST = RequestRecord(
    exchange_id="x1",
    t_request_us=1,
    t_body_us=2,
    method="POST",
    path="/v1/messages",
    api="anthropic-messages",
    upstream="http://127.0.0.1:1",
    headers=(),
    identity=Identity(),
    retry_of=None,
    body_bytes=6,
    body=b"secret",
)


def response(end: End) -> ResponseRecord:
    return ResponseRecord(
        exchange_id="x1",
        end=end,
        status=200,
        headers=(),
        t_headers_us=3,
        t_first_byte_us=4,
        t_end_us=5,
        chunk_sizes=(6,),
        chunk_times_us=(3,),
        usage=None,
        error=None,
        body_bytes=6,
        body=b"secret",
    )


@pytest.mark.parametrize("end", ["complete", "client_abort", "sse_error"])
def test_an_exchange_ends_as_its_response_did(end: End) -> None:
    assert Exchange(REQUEST, response(end)).end == end


def test_an_exchange_without_a_response_ended_for_an_unknown_reason() -> None:
    assert Exchange(REQUEST, None).end == "unknown"


def test_printing_a_record_never_shows_a_body() -> None:
    assert "secret" not in repr(Exchange(REQUEST, response("complete")))


@given(st.lists(st.binary()))
def test_messages_of_a_turn_come_back_whole_whatever_they_hold(messages: list[bytes]) -> None:
    body = b"".join(message + b"\n" for message in messages)
    sizes = tuple(len(message) + 1 for message in messages)
    turn = replace(response("complete"), body=body, body_bytes=len(body), chunk_sizes=sizes)
    assert turn.messages == tuple(messages)


def test_a_body_that_was_not_kept_has_no_messages() -> None:
    assert replace(response("complete"), body=b"").messages == ()
    assert replace(response("complete"), chunk_sizes=(3,)).messages == ()
