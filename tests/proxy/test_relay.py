"""What the short way takes, against mitmproxy's own parser: together they must hear what the parser alone would."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import cast

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

from proxy.relay import Relay, Tap, split_chunks

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

    def __init__(self, *, diverted: bool) -> None:
        client = connection.Client(peername=("", 0), sockname=("", 0), state=connection.ConnectionState.OPEN)
        self.client = client
        self.parser = Http1Client(Context(client, options.Options()))
        self.answers: list[bytearray] = []
        self.passed = bytearray()  # to the client, past the parser
        self.ends = 0
        self._diverted = diverted
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
            elif isinstance(command, commands.SendData) and command.connection is self.client:
                self.passed += command.data

    def _hear(self, data: bytes) -> None:
        answer = self.answers[-1]
        if not answer:
            relay = Relay(self.parser, self.client, answer.extend)
            if self._diverted:
                relay.divert()
            else:
                self._relay = relay
        answer.extend(data)


texts = st.binary(min_size=1, max_size=40)


@given(st.lists(st.lists(texts, max_size=6), max_size=5), st.lists(st.integers(1, 120), min_size=1), st.booleans())
def test_however_they_are_cut_each_answer_is_heard_whole_and_as_its_own(
    answers: list[list[bytes]], cuts: list[int], diverted: bool
) -> None:
    server, cut = Server(diverted=diverted), itertools.cycle(cuts)
    for pieces in answers:
        server.ask()
        wire = HEAD + b"".join(map(chunk, pieces)) + LAST
        while wire:
            size = next(cut)
            server.say(wire[:size])
            wire = wire[size:]
    assert [bytes(answer) for answer in server.answers] == [b"".join(pieces) for pieces in answers]
    assert server.ends == len(answers)


@pytest.mark.parametrize("diverted", [False, True])
def test_whole_chunks_do_not_reach_the_parser_in_any_answer(diverted: bool) -> None:
    server = Server(diverted=diverted)
    for whole in (False, True, False):
        server.ask()
        pieces = [HEAD, chunk(b"first"), chunk(b"0123456789", "04X"), LAST]
        for piece in [b"".join(pieces)] if whole else pieces:
            server.say(piece)
    assert bytes(server.passed) == chunk(b"0123456789", "04X") * 2
    assert server.answers == [b"first0123456789"] * 3


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_bodies_without_chunks_go_the_long_way(head: bytes) -> None:
    server = Server(diverted=False)
    server.ask()
    for piece in (head, chunk(b"one"), chunk(b"two")):
        server.say(piece)
    assert server.answers == [chunk(b"one") + chunk(b"two")]
    assert not server.passed


def test_part_of_a_chunk_in_the_parser_keeps_what_follows_from_the_short_way() -> None:
    server = Server(diverted=False)
    server.ask()
    for piece in (HEAD, chunk(b"1"), b"5\r\nfi", b"rst\r", b"\n", chunk(b"2")):
        server.say(piece)
    assert bytes(server.passed) == chunk(b"2")
    assert server.answers == [b"1first2"]


class Socket(asyncio.Transport):
    """Of a server: `say` makes it heard. Of a client: what was `sent`, and how much of it was not taken in."""

    def __init__(self, protocol: asyncio.BaseProtocol | None = None) -> None:
        super().__init__()
        self.sent = bytearray()
        self.waiting_bytes = 0
        self.closing = False
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        assert self._protocol is not None
        return self._protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def say(self, data: bytes) -> None:
        protocol = self.get_protocol()
        assert isinstance(protocol, asyncio.Protocol)
        protocol.data_received(data)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += data

    def get_write_buffer_size(self) -> int:
        return self.waiting_bytes

    def is_closing(self) -> bool:
        return self.closing


class Taker:
    """In a relay's place: takes as much of each piece as it is told to, all of it in the end."""

    def __init__(self, sizes: Sequence[int] = ()) -> None:
        self.taken: list[bytes] = []
        self._sizes = iter(sizes)

    def take(self, data: bytes) -> int:
        size = min(next(self._sizes, len(data)), len(data))
        self.taken += [data[:size]] if size else []
        return size


class Tapped:
    """A tap between two sockets, and what mitmproxy does with a server's: read it, and pass on what was read."""

    def __init__(self, taker: Taker) -> None:
        self.client, self.passed = Socket(), 0
        self.reader = asyncio.StreamReader()
        self.server = Socket(asyncio.StreamReaderProtocol(self.reader))
        self.below = self.server.get_protocol()
        self.tap = Tap(cast("Relay", taker), self.server, self.reader, self.client, self._pass)

    def _pass(self) -> None:
        self.passed += 1

    async def read(self, busy: Sequence[int]) -> None:
        turns = iter(busy)
        while data := await self.reader.read(50):
            for _ in range(next(turns, 0)):
                await asyncio.sleep(0)
            self.client.write(data)
            for _ in range(next(turns, 0)):
                await asyncio.sleep(0)


small = st.lists(st.integers(0, 3), max_size=40)


@given(st.lists(texts, max_size=20), st.lists(st.integers(0, 60), max_size=20), small, small, small)
def test_nothing_overtakes_what_is_on_the_long_way(
    pieces: list[bytes], sizes: list[int], busy: list[int], gaps: list[int], unread: list[int]
) -> None:
    async def play() -> None:
        tapped = Tapped(Taker(sizes))
        reading = asyncio.ensure_future(tapped.read(busy))
        for piece, gap, waiting in zip(pieces, [*gaps, *[0] * 20], [*unread, *[0] * 20], strict=False):
            for _ in range(gap):
                await asyncio.sleep(0)
            tapped.client.waiting_bytes = waiting // 3
            tapped.server.say(piece)
        tapped.reader.feed_eof()
        await reading
        assert bytes(tapped.client.sent) == b"".join(pieces)

    asyncio.run(play())


def test_a_piece_is_passed_on_before_any_task_runs() -> None:
    async def play() -> None:
        taker = Taker()
        tapped = Tapped(taker)
        reading = asyncio.ensure_future(tapped.read(()))
        await asyncio.sleep(0)
        for piece in (b"one", b"two"):
            tapped.server.say(piece)
        assert bytes(tapped.client.sent) == b"onetwo"
        assert (taker.taken, tapped.passed) == ([b"one", b"two"], 2)
        tapped.tap.take_away()
        assert tapped.server.get_protocol() is tapped.below
        reading.cancel()

    asyncio.run(play())


@pytest.mark.parametrize("state", [{"closing": True}, {"waiting_bytes": 1}])
def test_what_a_client_does_not_take_in_goes_the_long_way(state: dict[str, int]) -> None:
    async def play() -> None:
        taker = Taker()
        tapped = Tapped(taker)
        reading = asyncio.ensure_future(tapped.read(()))
        await asyncio.sleep(0)
        vars(tapped.client).update(state)
        tapped.server.say(b"one")
        assert not taker.taken
        tapped.reader.feed_eof()
        await reading
        assert bytes(tapped.client.sent) == b"one"

    asyncio.run(play())


def test_what_else_a_server_does_is_heard_below() -> None:
    async def play() -> None:
        tapped = Tapped(Taker())
        assert tapped.tap.eof_received()
        assert tapped.reader.at_eof()
        tapped.tap.connection_lost(ConnectionResetError())
        assert isinstance(tapped.reader.exception(), ConnectionResetError)

    asyncio.run(play())
