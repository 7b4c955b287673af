"""Small exchanges to store: a session whose requests repeat their history."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from corpus.exchange import Identity, RequestRecord, ResponseRecord
from wire.usage import Usage

type MakeExchange = Callable[..., tuple[RequestRecord, ResponseRecord]]


@pytest.fixture(scope="session")
def make_exchange() -> MakeExchange:
    def make(
        number: int, session_id: str | None = "session-1", body: bytes | None = None
    ) -> tuple[RequestRecord, ResponseRecord]:
        start = 1_700_000_000_000_000 + number * 1_000_000
        sent = b"history " * number + b"turn %d" % number if body is None else body
        request = RequestRecord(
            exchange_id=f"x{number:06}",
            t_request_us=start,
            t_body_us=start + 10,
            method="POST",
            path="/v1/messages",
            api="anthropic-messages",
            upstream="https://provider.example",
            headers=(("content-type", "application/json"),),
            identity=Identity(session_id=session_id, purpose="turn"),
            retry_of=None,
            body_bytes=len(sent),
            body=sent,
        )
        response = ResponseRecord(
            exchange_id=request.exchange_id,
            end="complete",
            status=200,
            headers=(),
            t_headers_us=start + 20,
            t_first_byte_us=start + 30,
            t_end_us=start + 40,
            chunk_sizes=(4, 2),
            chunk_times_us=(30, 40),
            usage=Usage(input_tokens=7),
            error=None,
            body_bytes=6,
            body=b"answer",
        )
        return request, response

    return make
