"""Real traffic over loopback: where it goes, what comes through, and how every ending is told."""

from __future__ import annotations

import gzip
import socket
import threading

import brotli  # type: ignore[import-untyped]  # ships no types
import pytest
import zstandard

from proxy.assembler import Assembler, Chunk, Event
from proxy.assembler import Record as Record_
from tests.proxy.conftest import Record, Recording
from tests.proxy.loopback import EVENT, OK_JSON, SSE_HEAD, TIMEOUT_S, Client, RawRequest, answer_with, chunked, reset
from tests.proxy.websockets import upgrade


def test_request_and_response_arrive_as_sent(recording: Recording) -> None:
    answer = (
        b"HTTP/1.1 200 Fine\r\nZ-Last: 1\r\nset-cookie: a=1\r\nSet-Cookie: b=2\r\nContent-TYPE: application/json\r\n"
        b'Content-Length: 9\r\n\r\n{"a": 1 }'
    )
    recording.upstream.answer = answer_with(answer)
    head = (
        b"POST /v1//messages%2Fx?beta=true&a=%20b HTTP/1.1\r\nZeta: 1\r\nHost: localhost\r\naccept: */*\r\n"
        b"X-Twice: one\r\nx-TWICE: two\r\nAuthorization: Bearer dummy\r\nContent-Length: 13"
    )
    with Client(recording.url) as client:
        client.send(head + b"\r\n\r\n" + b'{"model":"m"}')
        response = b"".join(client.response())
    heard = recording.upstream.next_request()
    assert heard.head == head.replace(b"localhost", f"127.0.0.1:{recording.upstream.port}".encode())
    assert heard.body == b'{"model":"m"}'
    assert response == answer


@pytest.mark.parametrize("coding", ["identity", "gzip", "br", "zstd"])
def test_bodies_are_passed_on_and_stored_as_encoded(recording: Recording, coding: str) -> None:
    encode = {
        "identity": bytes,
        "gzip": gzip.compress,
        "br": brotli.compress,
        "zstd": zstandard.ZstdCompressor().compress,
    }[coding]
    asked, answered = encode(b'{"model":"m","input":[]}'), encode(EVENT * 50)
    recording.upstream.answer = answer_with(
        SSE_HEAD.replace(b"\r\n\r\n", f"\r\nContent-Encoding: {coding}\r\n\r\n".encode())
        + chunked(answered[:7], answered[7:])
        + b"0\r\n\r\n"
    )
    with Client(recording.recorder.openai_url) as client:
        client.post("/v1/responses", asked, (f"Content-Encoding: {coding}", "User-Agent: codex_exec/0.171.0 (x)"))
        _, body = client.response()
    assert recording.upstream.next_request().body == asked
    assert body == chunked(answered[:7], answered[7:]) + b"0\r\n\r\n"
    exchange = recording.only_exchange()
    assert exchange.request.body == asked
    assert exchange.request.identity.model == "m"
    assert exchange.response is not None
    assert exchange.response.body == answered
    assert exchange.response.chunk_sizes == (7, len(answered) - 7)


def test_each_event_arrives_before_the_next_is_sent(recording: Recording) -> None:
    arrived = threading.Semaphore(0)

    def one_by_one(connection: socket.socket, _request: RawRequest) -> None:
        connection.sendall(SSE_HEAD)
        for number in range(5):
            connection.sendall(chunked(b"data: %d\n\n" % number))
            assert arrived.acquire(timeout=TIMEOUT_S)
        connection.sendall(b"0\r\n\r\n")

    recording.upstream.answer = one_by_one
    with Client(recording.url) as client:
        client.post("/v1/messages", b"x" * 600_000)
        for number in range(5):
            client.read_until(b"data: %d\n\n" % number)
            arrived.release()
        client.read_until(b"0\r\n\r\n")
    response = recording.only_exchange().response
    assert response is not None
    assert response.end == "complete"
    assert len(response.chunk_sizes) == 5
    assert list(response.chunk_times_us) == sorted(response.chunk_times_us)


def test_client_that_leaves_mid_stream_is_a_client_abort(recording: Recording) -> None:
    gone = threading.Event()

    def until_gone(connection: socket.socket, _request: RawRequest) -> None:
        connection.sendall(SSE_HEAD + chunked(EVENT))
        assert connection.recv(1) == b""  # the recorder hangs up, too
        gone.set()

    recording.upstream.answer = until_gone
    with Client(recording.url) as client:
        client.post("/v1/messages")
        client.read_until(EVENT)
    assert gone.wait(TIMEOUT_S)
    response = recording.only_exchange().response
    assert response is not None
    assert (response.end, response.status, response.body) == ("client_abort", 200, EVENT)


def test_client_that_leaves_before_its_request_is_whole_is_recorded(recording: Recording) -> None:
    with Client(recording.url) as client:
        client.send(b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf")
        client.socket.shutdown(socket.SHUT_WR)
        client.read_all()
    exchange = recording.only_exchange()
    assert exchange.end == "client_abort"
    assert exchange.request.body == b""
    assert recording.upstream.requests.empty()


@pytest.mark.parametrize("sent", [b"", SSE_HEAD + chunked(EVENT)])
def test_upstream_that_breaks_off_is_an_upstream_reset(recording: Recording, sent: bytes) -> None:
    def break_off(connection: socket.socket, _request: RawRequest) -> None:
        connection.sendall(sent)
        reset(connection)

    recording.upstream.answer = break_off
    with Client(recording.url) as client:
        client.post("/v1/messages")
        client.read_all()
    response = recording.only_exchange().response
    assert response is not None
    assert response.end == "upstream_reset"
    assert response.status in ((None,) if not sent else (200, None))  # a reset may overtake what was sent


def test_unreachable_upstream_is_upstream_refused(record: Record) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    recording = record(anthropic_upstream=f"http://127.0.0.1:{port}")
    with Client(recording.url) as client:
        client.post("/v1/messages")
        assert client.read_all().startswith(b"HTTP/1.1 502 ")
    response = recording.only_exchange().response
    assert response is not None
    assert (response.end, response.status) == ("upstream_refused", None)


def test_silence_beyond_the_limit_is_a_timeout(record: Record) -> None:
    recording = record(idle_limit_s=1)
    recording.upstream.answer = lambda connection, _request: assert_closed(connection)
    with Client(recording.url) as client:
        client.post("/v1/messages")
        client.read_all()
    assert recording.only_exchange().end == "timeout"


def assert_closed(connection: socket.socket) -> None:
    assert connection.recv(1) == b""


def test_responses_without_a_body_are_recorded(recording: Recording) -> None:
    recording.upstream.answer = answer_with(b"HTTP/1.1 204 No Content\r\nrequest-id: r1\r\n\r\n")
    with Client(recording.url) as client:
        client.send(b"HEAD /api/hello HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.read_until(b"\r\n\r\n")
    exchange = recording.only_exchange()
    assert exchange.response is not None
    assert (exchange.response.status, exchange.response.t_first_byte_us) == (204, None)
    assert exchange.request.identity.purpose == "probe"


@pytest.mark.parametrize(
    ("listener", "headers", "expected"),
    [
        ("anthropic_url", (), b"POST /v1/responses HTTP/1.1"),
        ("openai_url", (), b"POST /v1/responses HTTP/1.1"),
        ("openai_url", ("chatgpt-account-id: acc",), b"POST /backend-api/codex/responses HTTP/1.1"),
    ],
)
def test_the_listener_and_the_account_decide_the_upstream(
    recording: Recording, listener: str, headers: tuple[str, ...], expected: bytes
) -> None:
    with Client(getattr(recording.recorder, listener)) as client:
        client.post("/v1/responses", headers=headers)
        client.response()
    assert recording.upstream.next_request().line == expected


def test_one_connection_may_alternate_between_upstreams(recording: Recording) -> None:
    with Client(recording.recorder.openai_url) as client:
        for headers in ((), ("chatgpt-account-id: acc",), ()):
            client.post("/v1/responses", headers=headers)
            client.response()
    paths = [recording.upstream.next_request().line.split()[1] for _ in range(3)]
    assert paths == [b"/v1/responses", b"/backend-api/codex/responses", b"/v1/responses"]
    assert len(recording.exchanges()) == 3


def test_absolute_form_target_is_refused_and_recorded(recording: Recording) -> None:
    with Client(recording.url) as client:
        client.send(b"GET http://169.254.169.254/latest HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n")
        head, _ = client.response()
    assert head.startswith(b"HTTP/1.1 400 ")
    assert recording.upstream.requests.empty()
    assert recording.only_exchange().request.upstream == ""


@pytest.mark.parametrize("status", [404, 426])
def test_a_refused_upgrade_passes_unchanged_and_is_recorded(recording: Recording, status: int) -> None:
    metadata = '{"session_id":"s","thread_id":"s","request_kind":"prewarm","agent_name":"/root"}'
    answer = b"HTTP/1.1 %d No\r\nX-Why: because\r\nContent-Length: 4\r\n\r\nno!\n" % status
    recording.upstream.answer = answer_with(answer)
    with Client(recording.recorder.openai_url) as client:
        client.send(upgrade(("x-codex-turn-metadata", metadata)))
        assert b"".join(client.response()) == answer
        recording.upstream.answer = answer_with(OK_JSON)
        client.post("/v1/responses")
        assert client.response()[0].startswith(b"HTTP/1.1 200 ")
    assert dict(recording.upstream.next_request().headers)[b"Upgrade"] == b"websocket"
    handshake, post = recording.exchanges()
    assert (handshake.request.api, handshake.request.identity.purpose) == ("openai-responses-ws", "prewarm")
    assert handshake.response is not None
    assert (handshake.response.status, handshake.end) == (status, "complete")
    assert post.request.api == "openai-responses"


def test_other_statuses_pass_unchanged(recording: Recording) -> None:
    answer = b"HTTP/1.1 429 Too Many\r\nretry-after: 7\r\nContent-Length: 6\r\n\r\n{busy}"
    recording.upstream.answer = answer_with(answer)
    with Client(recording.url) as client:
        client.post("/v1/messages/count_tokens")
        assert b"".join(client.response()) == answer
    exchange = recording.only_exchange()
    assert exchange.request.identity.purpose == "count_tokens"
    assert exchange.response is not None
    assert exchange.response.headers == (("retry-after", "7"), ("Content-Length", "6"))


def test_a_fault_in_the_tee_changes_nothing_on_the_wire(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Assembler.feed

    def faulty(self: Assembler, event: Event) -> tuple[Record_, ...]:
        if type(event) is Chunk:
            raise RuntimeError("planted")
        return heard(self, event)

    monkeypatch.setattr(Assembler, "feed", faulty)
    recording.upstream.answer = answer_with(SSE_HEAD + chunked(EVENT, EVENT) + b"0\r\n\r\n")
    with Client(recording.url) as client:
        client.post("/v1/messages")
        assert b"".join(client.response()) == SSE_HEAD + chunked(EVENT, EVENT) + b"0\r\n\r\n"
    response = recording.only_exchange().response
    assert response is not None
    assert response.end == "complete"
    assert response.error == "the recorder failed while listening; the body is not whole"
    assert recording.stop().listen_errors == 1


def test_a_fault_in_any_event_changes_nothing_on_the_wire(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(self: Assembler, event: Event) -> tuple[Record_, ...]:
        raise RuntimeError("planted")

    monkeypatch.setattr(Assembler, "feed", faulty)
    with Client(recording.url) as client:
        for _ in range(2):
            client.post("/v1/messages")
            assert b"".join(client.response()) == OK_JSON
    assert recording.exchanges() == []
    assert recording.stop().listen_errors > 0


def test_pipelined_connections_keep_exchanges_apart(recording: Recording) -> None:
    with Client(recording.url) as client:
        for number in range(20):
            client.post(f"/v1/messages?n={number}", b"%d" % number)
            client.response()
    exchanges = recording.exchanges()
    assert [exchange.request.body for exchange in exchanges] == [b"%d" % number for number in range(20)]
    ids = [exchange.request.exchange_id for exchange in exchanges]
    assert ids == sorted(set(ids))


@pytest.mark.parametrize(
    "target",
    [
        "/model/us.anthropic.claude/invoke-with-response-stream",
        "/v1/projects/p/locations/l/publishers/anthropic/models/claude:streamRawPredict",
        "/v1beta/models/gemini:streamGenerateContent?alt=sse",
        "/v1/embeddings",
    ],
)
def test_what_speaks_another_api_passes_and_is_recorded_as_other(recording: Recording, target: str) -> None:
    body = bytes(range(256))
    with Client(recording.url) as client:
        client.post(target, body)
        assert b"".join(client.response()) == OK_JSON
    heard = recording.upstream.next_request()
    assert (heard.line, heard.body) == (f"POST {target} HTTP/1.1".encode(), body)
    exchange = recording.only_exchange()
    assert (exchange.request.api, exchange.request.body, exchange.end) == ("other", body, "complete")


def test_a_chat_completion_is_read(recording: Recording) -> None:
    usage = b'{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}'
    chunks = [
        b'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n',
        b"data: " + usage + b"\n\n",
        b"data: [DONE]\n\n",
    ]
    recording.upstream.answer = answer_with(SSE_HEAD + chunked(*chunks) + b"0\r\n\r\n")
    with Client(recording.recorder.openai_url) as client:
        client.post("/v1/chat/completions", b'{"model":"m","stream":true,"messages":[]}')
        client.response()
    exchange = recording.only_exchange()
    assert (exchange.request.api, exchange.request.identity.purpose) == ("openai-chat", "turn")
    assert exchange.response is not None
    assert exchange.response.usage is not None
    assert (exchange.response.usage.input_tokens, exchange.response.usage.output_tokens) == (7, 2)
