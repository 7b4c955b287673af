"""What the short way takes, against mitmproxy's own parser: together they must hear what the parser alone would."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy import connection, http, options
from mitmproxy.proxy import events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http._base import ReceiveHttp
from mitmproxy.proxy.layers.http._events import (
    RequestEndOfMessage,
    RequestHeaders,
    ResponseData,
    ResponseEndOfMessage,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._http1 import Http1Client

from proxy.relay import Relay, split_chunks

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"


def chunk(data: bytes, size: str = "x") -> bytes:
    return f"{len(data):{size}}\r\n".encode() + data + b"\r\n"


@pytest.mark.parametrize(
    ("data", "taken", "content"),
    [
        (b"", 0, b""),
        (chunk(b"one"), 8, b"one"),
        (chunk(b"one") + chunk(b"\r\n"), 15, b"one\r\n"),
        (chunk(b"0123456789", "04X"), 18, b"0123456789"),
        (chunk(b"one") + b"3\r\ntw", 8, b"one"),
        (chunk(b"one") + b"3", 8, b"one"),
        (chunk(b"one")[:-1], 0, b""),
        (chunk(b"one") + LAST, 8, b"one"),
        (LAST, 0, b""),
        (b"3;name=value\r\none\r\n", 0, b""),
        (b"3 \r\none\r\n", 0, b""),
        (b"-3\r\none\r\n", 0, b""),
        (b"3\r\nonetwo", 0, b""),
        (b"111111111\r\n", 0, b""),
    ],
)
def test_only_whole_plain_chunks_are_taken(data: bytes, taken: int, content: bytes) -> None:
    assert split_chunks(data) == (taken, content)


class Server:
    """mitmproxy's parser of one server connection, and what was heard of each answer."""

    def __init__(self) -> None:
        client = connection.Client(peername=("", 0), sockname=("", 0), state=connection.ConnectionState.OPEN)
        self.parser = Http1Client(Context(client, options.Options()))
        self.answers: list[bytearray] = []
        self.passed = bytearray()  # to the client, past the parser
        self.ends = 0
        self._relay: Relay | None = None
        self._feed(events.Start())

    def ask(self) -> None:
        self.answers.append(bytearray())
        request = http.Request.make("POST", "http://127.0.0.1/v1/messages")
        self._feed(RequestHeaders(1, request, end_stream=True))
        self._feed(RequestEndOfMessage(1))

    def say(self, data: bytes) -> None:
        taken = self._relay.take(data) if self._relay else 0
        self.passed += data[:taken]
        if data[taken:]:
            self._feed(events.DataReceived(self.parser.conn, data[taken:]))

    def _feed(self, event: events.Event) -> None:
        for command in self.parser.handle_event(event):
            if isinstance(command, ReceiveHttp):
                assert not isinstance(command.event, ResponseProtocolError)
                if isinstance(command.event, ResponseData):
                    self._hear(command.event.data)
                self.ends += isinstance(command.event, ResponseEndOfMessage)

    def _hear(self, data: bytes) -> None:
        answer = self.answers[-1]
        if not answer:
            self._relay = Relay(self.parser, answer.extend)
        answer.extend(data)


texts = st.binary(min_size=1, max_size=40)


@given(st.lists(st.lists(texts, max_size=6), max_size=5), st.lists(st.integers(1, 120), min_size=1))
def test_however_they_are_cut_each_answer_is_heard_whole_and_as_its_own(
    answers: list[list[bytes]], cuts: list[int]
) -> None:
    server, cut = Server(), itertools.cycle(cuts)
    for pieces in answers:
        server.ask()
        wire = HEAD + b"".join(map(chunk, pieces)) + LAST
        while wire:
            size = next(cut)
            server.say(wire[:size])
            wire = wire[size:]
    assert [bytes(answer) for answer in server.answers] == [b"".join(pieces) for pieces in answers]
    assert server.ends == len(answers)


def test_whole_chunks_do_not_reach_the_parser_in_any_answer() -> None:
    server = Server()
    for whole in (False, True, False):
        server.ask()
        pieces = [HEAD, chunk(b"first"), chunk(b"0123456789", "04X"), LAST]
        for piece in [b"".join(pieces)] if whole else pieces:
            server.say(piece)
    assert bytes(server.passed) == chunk(b"0123456789", "04X") * 2
    assert server.answers == [b"first0123456789"] * 3


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_bodies_without_chunks_go_the_long_way(head: bytes) -> None:
    server = Server()
    server.ask()
    for piece in (head, chunk(b"one"), chunk(b"two")):
        server.say(piece)
    assert server.answers == [chunk(b"one") + chunk(b"two")]
    assert not server.passed


def test_part_of_a_chunk_in_the_parser_keeps_what_follows_from_the_short_way() -> None:
    server = Server()
    server.ask()
    for piece in (HEAD, chunk(b"1"), b"5\r\nfi", b"rst\r", b"\n", chunk(b"2")):
        server.say(piece)
    assert bytes(server.passed) == chunk(b"2")
    assert server.answers == [b"1first2"]
