"""WebSockets over loopback through the real recorder, and the sans-IO connection behind it."""

from __future__ import annotations

import socket
import threading
from itertools import count

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy import tcp

from corpus.exchange import Exchange, RequestRecord, ResponseRecord
from proxy.assembler import Assembler, Event, RequestHead, ResponseHead
from proxy.assembler import Record as Record_
from proxy.hearing import BROKEN, Hearing
from proxy.hooks import Hooks
from proxy.turns import Connection
from tests.proxy.conftest import Record, Recording
from tests.proxy.loopback import TIMEOUT_S, reset
from tests.proxy.websockets import DEFLATE, MASK, Packer, connected, create, events, frame, receive, upgraded


class Wire:
    """One upgraded connection without sockets; time passes by one microsecond at each look."""

    def __init__(self, path: str = "/v1/responses") -> None:
        self.told: list[Record_] = []
        clock, numbers = count(1), count(1)
        self.hearing = Hearing(self.told.append, lambda: next(clock), lambda _t: f"e{next(numbers)}", 10**9)
        api = "openai-responses-ws" if path.endswith("/responses") else "other"
        head = RequestHead("e0", 0, "GET", path, api, "u", (("session-id", "s"),))  # type: ignore[arg-type]
        handshake = self.hearing.begin("flow", head, "client")
        response = ResponseHead(1, 101, (("x", "y"),))
        self.hearing.hear(handshake, response)
        self.connection = Connection(self.hearing, self.hearing.open.pop("flow"), response)

    def client(self, *messages: bytes) -> None:
        for message in messages:
            self.connection.hear(frame(message, mask=MASK), from_client=True)

    def server(self, *messages: bytes) -> None:
        for message in messages:
            self.connection.hear(frame(message), from_client=False)

    def exchanges(self) -> list[Exchange]:
        """What was told, each exactly once, requests before responses."""
        requests = {r.exchange_id: r for r in self.told if isinstance(r, RequestRecord)}
        responses = {r.exchange_id: r for r in self.told if isinstance(r, ResponseRecord)}
        assert len(requests) + len(responses) == len(self.told)
        assert responses.keys() <= requests.keys()
        return [Exchange(request, responses.get(name)) for name, request in requests.items()]


def test_each_turn_is_an_exchange_with_its_messages_as_they_were() -> None:
    wire = Wire()
    for number in (1, 2):
        wire.client(create(number))
        wire.server(*events(f"r{number}", "yes"))
    wire.connection.end(client_left=True)
    first, second = wire.exchanges()
    assert (first.request.body, second.request.body) == (create(1), create(2))
    assert first.request.api == "openai-responses-ws"
    assert first.request.headers == (("session-id", "s"),)
    assert first.response is not None
    assert first.response.messages == tuple(events("r1", "yes"))
    assert (first.response.status, first.end, first.response.headers) == (200, "complete", (("x", "y"),))
    assert second.end == "complete"


def test_a_request_is_told_before_its_answer_comes() -> None:
    wire = Wire()
    wire.client(create())
    (exchange,) = wire.exchanges()
    assert exchange.response is None


def test_an_error_message_ends_the_turn_with_its_own_status() -> None:
    wire = Wire()
    wire.client(create())
    wire.server(orjson.dumps({"type": "error", "status": 429, "error": {"type": "x"}}))
    (exchange,) = wire.exchanges()
    assert exchange.response is not None
    assert exchange.response.status == 429


@pytest.mark.parametrize(("client_left", "end"), [(True, "client_abort"), (False, "upstream_reset")])
def test_a_turn_that_is_cut_ends_by_who_left(client_left: bool, end: str) -> None:
    wire = Wire()
    wire.client(create())
    wire.server(*events("r1", "yes")[:2])
    wire.connection.end(client_left=client_left)
    (exchange,) = wire.exchanges()
    assert exchange.end == end
    assert exchange.response is not None
    assert exchange.response.messages == tuple(events("r1", "yes")[:2])


@pytest.mark.parametrize(("from_client", "end"), [(True, "client_abort"), (False, "upstream_reset")])
def test_a_close_frame_in_a_turn_ends_it(from_client: bool, end: str) -> None:
    wire = Wire()
    wire.client(create())
    wire.connection.hear(frame(b"\x03\xe8", opcode=8), from_client=from_client)
    wire.connection.end(client_left=not from_client)
    assert [exchange.end for exchange in wire.exchanges()] == [end]


def test_a_stop_in_a_turn_is_told_as_such() -> None:
    wire = Wire()
    wire.client(create())
    wire.hearing.stopping = True
    wire.connection.end(client_left=True)
    assert [exchange.end for exchange in wire.exchanges()] == ["proxy_shutdown"]


def test_turns_asked_at_once_are_answered_in_order() -> None:
    wire = Wire()
    wire.client(create(1), create(2))
    wire.server(*events("r1", "a"), *events("r2", "b"))
    answers = [exchange.response.messages for exchange in wire.exchanges() if exchange.response]
    assert answers == [tuple(events("r1", "a")), tuple(events("r2", "b"))]


def test_what_is_part_of_no_turn_is_an_exchange_of_its_own() -> None:
    wire = Wire()
    limits = b'{"type":"codex.rate_limits"}'
    wire.client(b"hello", b'{"type":"session.update"}')
    wire.server(limits)
    seen = [(e.request.api, e.request.body, e.response.messages) for e in wire.exchanges() if e.response]
    update = b'{"type":"session.update"}'
    assert seen == [("other", b"hello", ()), ("other", update, ()), ("other", b"", (limits,))]


def test_a_socket_of_another_kind_has_no_turns() -> None:
    wire = Wire("/v1/realtime")
    wire.client(create())
    wire.server(*events("r1"))
    assert {exchange.request.api for exchange in wire.exchanges()} == {"other"}


def test_a_connection_without_a_turn_is_its_handshake() -> None:
    wire = Wire()
    wire.connection.hear(frame(b"", opcode=9), from_client=True)
    wire.connection.end(client_left=True)
    (exchange,) = wire.exchanges()
    assert exchange.response is not None
    assert (exchange.request.exchange_id, exchange.response.status, exchange.end) == ("e0", 101, "complete")


def test_what_cannot_be_read_spoils_the_open_turn_and_nothing_else() -> None:
    wire = Wire()
    wire.client(create())
    wire.server(*events("r1"))
    wire.client(create())
    wire.connection.hear(b"\xff\xff", from_client=False)
    wire.server(*events("r2"))
    wire.connection.end(client_left=True)
    first, second = wire.exchanges()
    assert first.end == "complete"
    assert second.response is not None
    assert (second.end, second.response.error) == ("client_abort", BROKEN)
    assert wire.hearing.failures == 1


def test_a_message_begins_when_its_first_byte_is_heard() -> None:
    wire, data = Wire(), frame(create(), mask=MASK)
    for at in (slice(0, 3), slice(3, 20), slice(20, None)):
        wire.connection.hear(data[at], from_client=True)
    (exchange,) = wire.exchanges()
    assert exchange.request.t_body_us > exchange.request.t_request_us + 1


# --- through the recorder


@pytest.mark.parametrize("packed", [False, True])
def test_every_byte_passes_both_ways_and_turns_are_recorded(recording: Recording, packed: bool) -> None:
    down, up = Packer(), Packer()
    asked = [create(number, prompt_cache_key="é" * 100_000) for number in (1, 2)]
    answers = [events(f"r{number}", "yes", "no") for number in (1, 2)]
    sent = [up.frame(body, MASK) if packed else frame(body, mask=MASK) for body in asked]
    told = [b"".join(down.frame(one) if packed else frame(one) for one in answer) for answer in answers]
    ping, pong, close = frame(b"p", opcode=9, mask=MASK), frame(b"p", opcode=10), frame(b"\x03\xe8bye", opcode=8)
    heard: list[bytes] = []

    def talk(connection: socket.socket) -> None:
        for number in range(2):
            heard.append(receive(connection, len(sent[number])))
            connection.sendall(told[number])
        heard.append(receive(connection, len(ping)))
        connection.sendall(pong + close)

    recording.upstream.answer = upgraded(talk, extra=DEFLATE if packed else b"")
    with connected(recording.recorder.openai_url, ("session-id", "s")) as client:
        for number in range(2):
            client.send(sent[number])
            assert client.read_until(told[number][-20:]) == told[number]
        client.send(ping)
        assert client.read_all() == pong + close
    assert heard == [*sent, ping]
    exchanges = recording.exchanges()
    assert [exchange.request.body for exchange in exchanges] == asked
    assert [exchange.response.messages for exchange in exchanges if exchange.response] == [
        tuple(answer) for answer in answers
    ]
    assert {(e.end, e.request.identity.session_id, e.request.path) for e in exchanges} == {
        ("complete", "s", "/v1/responses")
    }
    assert exchanges[1].request.upstream == f"{recording.upstream.url}/v1"


def test_a_client_that_drops_the_line_is_an_abort_and_the_upstream_hears_no_farewell(recording: Recording) -> None:
    rest: list[bytes] = []
    gone = threading.Event()
    asked = frame(create(), mask=MASK)

    def talk(connection: socket.socket) -> None:
        receive(connection, len(asked))
        connection.sendall(frame(events("r1")[0]))
        rest.append(connection.recv(100))
        gone.set()

    recording.upstream.answer = upgraded(talk)
    with connected(recording.recorder.openai_url) as client:
        client.send(asked)
        client.read_until(b"in_progress")
    assert gone.wait(TIMEOUT_S)
    assert rest == [b""]
    assert recording.only_exchange().end == "client_abort"


@pytest.mark.parametrize("hard", [False, True])
def test_an_upstream_that_drops_the_line_is_an_upstream_reset(recording: Recording, hard: bool) -> None:
    asked = frame(create(), mask=MASK)

    def talk(connection: socket.socket) -> None:
        receive(connection, len(asked))
        connection.sendall(frame(events("r1")[0]))
        if hard:
            reset(connection)

    recording.upstream.answer = upgraded(talk)
    with connected(recording.recorder.openai_url) as client:
        client.send(asked)
        client.read_all()
    assert recording.only_exchange().end == "upstream_reset"


def test_stopping_ends_open_turns_and_does_not_wait_for_idle_connections(record: Record) -> None:
    recording = record(grace_s=0.2)
    idle = record_idle(recording)
    asked = frame(create(), mask=MASK)

    def talk(connection: socket.socket) -> None:
        receive(connection, len(asked))
        connection.sendall(frame(events("r1")[0]))
        connection.recv(1)

    recording.upstream.answer = upgraded(talk)
    with idle, connected(recording.recorder.openai_url) as client:
        client.send(asked)
        client.read_until(b"in_progress")
        recording.stop()
    ends = {(e.request.method, bool(e.request.body), e.end) for e in recording.exchanges()}
    assert ends == {("GET", True, "proxy_shutdown"), ("GET", False, "complete")}


def record_idle(recording: Recording) -> socket.socket:
    """An upgraded connection on which nothing is said."""
    recording.upstream.answer = upgraded(assert_quiet)
    context = connected(recording.recorder.openai_url)
    client = context.__enter__()
    return client.socket


def assert_quiet(connection: socket.socket) -> None:
    assert connection.recv(1) == b""


# --- whatever comes


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=60)), max_size=12), st.booleans())
def test_noise_on_the_line_never_raises_and_every_exchange_ends_once(
    pieces: list[tuple[bool, bytes]], asked: bool
) -> None:
    wire = Wire()
    if asked:
        wire.client(create())
    for from_client, data in pieces:
        wire.connection.hear(data, from_client=from_client)
    wire.connection.end(client_left=True)
    wire.connection.end(client_left=True)
    assert wire.hearing.open == {}
    exchanges = wire.exchanges()
    assert exchanges
    assert all(exchange.response for exchange in exchanges)


messages = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([create(), b'{"type":"response.completed"}', b'{"type":"error"}', *events("r1", "x")]),
)


@given(st.lists(st.tuples(st.booleans(), messages), max_size=12))
def test_messages_in_any_order_are_all_kept(said: list[tuple[bool, bytes]]) -> None:
    wire = Wire()
    for from_client, message in said:
        (wire.client if from_client else wire.server)(message)
    wire.connection.end(client_left=False)
    assert wire.hearing.failures == 0
    exchanges = [exchange for exchange in wire.exchanges() if exchange.request.exchange_id != "e0"]
    told = [message for exchange in exchanges if exchange.response for message in exchange.response.messages]
    assert sorted(told) == sorted(message for from_client, message in said if not from_client)
    asked = [exchange.request.body for exchange in exchanges if exchange.request.body]
    assert asked == [message for from_client, message in said if from_client and message]


def test_a_fault_while_listening_changes_nothing_on_the_line(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(self: Assembler, event: Event) -> tuple[Record_, ...]:
        raise RuntimeError("planted")

    monkeypatch.setattr(Assembler, "feed", faulty)
    asked, told = frame(create(), mask=MASK), b"".join(map(frame, events("r1", "yes")))

    def talk(connection: socket.socket) -> None:
        for _ in range(2):
            receive(connection, len(asked))
            connection.sendall(told)

    recording.upstream.answer = upgraded(talk)
    with connected(recording.recorder.openai_url) as client:
        for _ in range(2):
            client.send(asked)
            assert client.read_until(told[-20:]) == told
        assert client.read_all() == b""
    assert recording.stop().listen_errors > 0


def test_nothing_that_was_said_stays_in_memory(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[int] = []
    heard = Hooks.tcp_message

    def watched(self: Hooks, flow: tcp.TCPFlow) -> None:
        heard(self, flow)
        kept.append(len(flow.messages))

    monkeypatch.setattr(Hooks, "tcp_message", watched)
    asked, told = frame(create(), mask=MASK), b"".join(map(frame, events("r1", "yes")))

    def talk(connection: socket.socket) -> None:
        for _ in range(5):
            receive(connection, len(asked))
            connection.sendall(told)

    recording.upstream.answer = upgraded(talk)
    with connected(recording.recorder.openai_url) as client:
        for _ in range(5):
            client.send(asked)
            client.read_until(told[-20:])
    assert len(recording.exchanges()) == 5
    assert set(kept) == {0}
