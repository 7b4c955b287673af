"""Playbooks: events in, records out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corpus.exchange import RequestRecord, ResponseRecord
from proxy.assembler import Assembler, Chunk, Ended, Event, Record, RequestBody, RequestHead, ResponseHead

HEAD = RequestHead(
    exchange_id="e1",
    t_us=1000,
    method="POST",
    path="/v1/messages",
    api="anthropic-messages",
    upstream="http://u",
    headers=(("a", "b"),),
)


def play(*events: Event, head: RequestHead = HEAD, max_body_bytes: int = 100) -> list[Record]:
    assembler = Assembler(head, max_body_bytes)
    return [record for event in events for record in assembler.feed(event)]


def test_whole_exchange_tells_request_then_response() -> None:
    request, response = play(
        RequestBody(1010, b"ask"),
        ResponseHead(1020, 200, (("c", "d"),)),
        Chunk(1030, b"an"),
        Chunk(1040, b"swer"),
        Ended(1050),
    )
    assert isinstance(request, RequestRecord)
    assert (request.t_request_us, request.t_body_us, request.body, request.body_bytes) == (1000, 1010, b"ask", 3)
    assert (request.method, request.path, request.upstream) == ("POST", "/v1/messages", "http://u")
    assert isinstance(response, ResponseRecord)
    assert (response.status, response.headers, response.end, response.error) == (200, (("c", "d"),), "complete", None)
    assert (response.t_headers_us, response.t_first_byte_us, response.t_end_us) == (1020, 1030, 1050)
    assert (response.chunk_sizes, response.chunk_times_us) == ((2, 4), (30, 40))
    assert (response.body, response.body_bytes) == (b"answer", 6)


def test_request_is_told_as_soon_as_it_is_whole() -> None:
    assembler = Assembler(HEAD)
    assert [type(record) for record in assembler.feed(RequestBody(1010, b""))] == [RequestRecord]
    assert assembler.feed(ResponseHead(1020, 200, ())) == ()


def test_ending_before_the_request_was_whole_tells_both() -> None:
    request, response = play(Ended(1100, "client_abort", "words"))
    assert isinstance(request, RequestRecord)
    assert (request.body, request.t_body_us) == (b"", 1100)
    assert isinstance(response, ResponseRecord)
    assert (response.end, response.error, response.status, response.t_headers_us) == (
        "client_abort",
        "words",
        None,
        None,
    )


def test_no_body_has_no_first_byte() -> None:
    *_, response = play(RequestBody(1, b""), ResponseHead(2, 204, ()), Ended(3))
    assert isinstance(response, ResponseRecord)
    assert response.t_first_byte_us is None
    assert response.chunk_sizes == ()


def test_private_bodies_are_never_kept() -> None:
    head = RequestHead("e", 0, "POST", "/oauth", "other", "u", (), keep_bodies=False)
    request, response = play(
        RequestBody(1, b"secret"), ResponseHead(2, 200, ()), Chunk(3, b"secret"), Ended(4), head=head
    )
    assert request.body == b""
    assert response.body == b""
    assert isinstance(response, ResponseRecord)
    assert response.error is None


def test_a_response_too_large_is_counted_but_not_kept() -> None:
    *_, response = play(
        RequestBody(1, b""), ResponseHead(2, 200, ()), Chunk(3, b"x" * 99), Chunk(4, b"xx"), Chunk(5, b"x"), Ended(6)
    )
    assert isinstance(response, ResponseRecord)
    assert (response.body, response.body_bytes, response.chunk_sizes) == (b"", 0, (99, 2, 1))
    assert response.error == "body too large to keep"


events = st.one_of(
    st.builds(RequestBody, st.integers(0, 9), st.binary(max_size=4)),
    st.builds(ResponseHead, st.integers(0, 9), st.just(200), st.just(())),
    st.builds(Chunk, st.integers(0, 9), st.binary(max_size=4)),
    st.builds(Ended, st.integers(0, 9), st.sampled_from(["complete", "upstream_reset"])),
)


@given(st.lists(events))
def test_any_order_gives_one_request_and_one_response(heard: list[Event]) -> None:
    records = play(*heard, Ended(10))
    assert [type(record) for record in records] == [RequestRecord, ResponseRecord]
