"""The sans-IO connection: bytes of both directions in, exchanges out."""

from __future__ import annotations

from itertools import count

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.exchange import Exchange, RequestRecord, ResponseRecord
from proxy.assembler import Record as Record_
from proxy.assembler import RequestBody, RequestHead, ResponseHead
from proxy.hearing import BROKEN, Hearing
from proxy.turns import Connection
from tests.proxy.websockets import MASK, create, events, frame


class Wire:
    """One upgraded connection without sockets; time passes by one microsecond at each look."""

    def __init__(self, path: str = "/v1/responses") -> None:
        self.told: list[Record_] = []
        clock, numbers = count(1), count(1)
        self.hearing = Hearing(self.told.append, lambda: next(clock), lambda _t: f"e{next(numbers)}", 10**9)
        api = "openai-responses-ws" if path.endswith("/responses") else "other"
        head = RequestHead("e0", 0, "GET", path, api, "u", (("session-id", "s"),))  # type: ignore[arg-type]
        handshake = self.hearing.begin("flow", head, "client")
        self.hearing.hear(handshake, RequestBody(0, b""))
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
        asked = [r for r in self.told if isinstance(r, RequestRecord)]
        requests = {r.exchange_id: r for r in asked}
        responses = {r.exchange_id: r for r in self.told if isinstance(r, ResponseRecord)}
        anew = [r.exchange_id for r in asked[1:]].count("e0")  # the handshake, as what came of it
        assert anew <= 1
        assert len(requests) + anew + len(responses) == len(self.told)
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


def test_a_handshake_is_told_at_once_and_told_anew_as_the_first_turn_that_is_recorded() -> None:
    wire = Wire()
    assert [record.exchange_id for record in wire.told] == ["e0"]
    wire.hearing.mutes = lambda: True
    wire.client(create())
    wire.server(*events("r0"))
    assert len(wire.told) == 1
    wire.hearing.mutes = lambda: False
    wire.client(create(1), create(2))
    first, second = wire.exchanges()
    assert (first.request.exchange_id, first.request.body) == ("e0", create(1))
    assert second.request.exchange_id != "e0"


def test_a_handshake_whose_turns_were_not_recorded_ends_by_itself() -> None:
    wire = Wire()
    wire.hearing.mutes = lambda: True
    wire.client(create())
    wire.connection.end(client_left=True)
    (exchange,) = wire.exchanges()
    assert (exchange.request.exchange_id, exchange.end) == ("e0", "complete")


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
    exchanges = [exchange for exchange in wire.exchanges() if said]
    told = [message for exchange in exchanges if exchange.response for message in exchange.response.messages]
    assert sorted(told) == sorted(message for from_client, message in said if not from_client)
    asked = [exchange.request.body for exchange in exchanges if exchange.request.body]
    assert asked == [message for from_client, message in said if from_client and message]
