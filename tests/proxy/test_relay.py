"""What the short way takes, against mitmproxy's own parser: together they must hear what the parser alone would."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy import connection, http, options
from mitmproxy.proxy import commands, events
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
    """mitmproxy's parser of one server connection, which was asked something, and what it heard."""

    def __init__(self) -> None:
        client = connection.Client(peername=("", 0), sockname=("", 0), state=connection.ConnectionState.OPEN)
        context = Context(client, options.Options())
        self.client = client
        self.parser = Http1Client(context)
        self.heard = bytearray()
        self.passed = bytearray()  # to the client, past the parser
        self.ends = 0
        self.feed(events.Start())
        self.ask()

    def ask(self) -> None:
        request = http.Request.make("POST", "http://127.0.0.1/v1/messages")
        self.feed(RequestHeaders(1, request, end_stream=True))
        self.feed(RequestEndOfMessage(1))

    def feed(self, event: events.Event) -> None:
        for command in self.parser.handle_event(event):
            if isinstance(command, ReceiveHttp):
                assert not isinstance(command.event, ResponseProtocolError)
                if isinstance(command.event, ResponseData):
                    self.heard += command.event.data
                self.ends += isinstance(command.event, ResponseEndOfMessage)
            elif isinstance(command, commands.SendData) and command.connection is self.client:
                self.passed += command.data

    def say(self, data: bytes) -> None:
        self.feed(events.DataReceived(self.parser.conn, data))

    def relay(self) -> Relay:
        return Relay(self.parser, self.client, self.heard.extend)


texts = st.binary(min_size=1, max_size=40)


@given(st.lists(texts, max_size=12), st.lists(st.integers(1, 60), min_size=1), st.booleans())
def test_however_it_is_cut_the_short_way_and_the_parser_hear_all_of_it_in_order(
    pieces: list[bytes], cuts: list[int], diverted: bool
) -> None:
    server = Server()
    server.say(HEAD)
    relay = server.relay()
    if diverted:
        relay.divert()
    wire = b"".join(map(chunk, pieces)) + LAST
    number, passed = 0, 0
    while wire:
        cut = cuts[number % len(cuts)]
        data, wire, number = wire[:cut], wire[cut:], number + 1
        taken = 0 if diverted else relay.take(data)
        passed += taken
        if data[taken:]:
            server.say(data[taken:])
    assert bytes(server.heard) == b"".join(pieces)
    assert server.ends == 1
    assert relay.over


def test_whole_chunks_do_not_reach_the_parser() -> None:
    server = Server()
    server.say(HEAD)
    server.relay().divert()
    server.say(chunk(b"0123456789", "04X"))
    assert bytes(server.passed) == chunk(b"0123456789", "04X")
    assert bytes(server.heard) == b"0123456789"


def test_an_answers_relay_takes_nothing_of_the_next_answer() -> None:
    server = Server()
    server.say(HEAD)
    relay = server.relay()
    relay.divert()
    server.say(chunk(b"first") + LAST)
    server.ask()
    server.say(HEAD)
    server.say(chunk(b"second"))
    assert bytes(server.passed) == chunk(b"first")
    assert bytes(server.heard) == b"firstsecond"


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_bodies_without_chunks_go_the_long_way(head: bytes) -> None:
    server = Server()
    server.say(head)
    assert server.relay().take(chunk(b"one")) == 0


def test_part_of_a_chunk_in_the_parser_keeps_what_follows_from_the_short_way() -> None:
    server = Server()
    server.say(HEAD)
    relay = server.relay()
    for part in (b"5", b"\r\n", b"fi", b"rst", b"\r"):
        assert relay.take(part) == 0
        server.say(part)
        assert relay.take(chunk(b"x")) == 0
    server.say(b"\n")
    assert relay.take(chunk(b"second")) == len(chunk(b"second"))
    assert bytes(server.heard) == b"firstsecond"
