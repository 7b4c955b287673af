"""The tap between two sockets: what is passed on at once and what goes the long way arrive in the order they came."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from OpenSSL import SSL

from proxy.relay import Relay
from proxy.tap import End, Tap
from tests.proxy.certificates import make_authority, server_files


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
    """A tap between two sockets, and what mitmproxy does with a server's: read it, open it, pass on what it says."""

    def __init__(self, taker: Taker, session: SSL.Connection | None = None) -> None:
        self.client, self.passed = Socket(), 0
        self.reader = asyncio.StreamReader()
        self.server = Socket(asyncio.StreamReaderProtocol(self.reader))
        self.below = self.server.get_protocol()
        self._session = session
        server, client = End(self.server, self.reader, session), End(self.client, asyncio.StreamReader())
        self.tap = Tap(cast("Relay", taker), server, client, self._pass, lambda: self._handle(b""))

    def _pass(self) -> None:
        self.passed += 1

    async def read(self, busy: Sequence[int] = ()) -> None:
        turns = iter(busy)
        while data := await self.reader.read(50):
            for _ in range(next(turns, 0)):
                await asyncio.sleep(0)
            self._handle(data)
            for _ in range(next(turns, 0)):
                await asyncio.sleep(0)

    def _handle(self, data: bytes) -> None:
        if self._session is None:
            self.client.write(data)
            return
        if data:
            self._session.bio_write(data)
        with contextlib.suppress(SSL.WantReadError, SSL.ZeroReturnError):
            while True:
                self.client.write(self._session.recv(65_535))


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> tuple[SSL.Context, SSL.Context]:
    """Of a server and of a client."""
    authority = make_authority(tmp_path_factory.mktemp("ca"))
    return tls_contexts(authority.parent)


def tls_contexts(folder: Path) -> tuple[SSL.Context, SSL.Context]:
    server, client = SSL.Context(SSL.TLS_SERVER_METHOD), SSL.Context(SSL.TLS_CLIENT_METHOD)
    certificate, key = server_files(folder)
    server.use_certificate_file(str(certificate))
    server.use_privatekey_file(str(key))
    return server, client


def shake_hands(contexts: tuple[SSL.Context, SSL.Context]) -> tuple[SSL.Connection, SSL.Connection]:
    """Both sides of a session, each with the other's last word read."""
    server, client = (SSL.Connection(context, None) for context in contexts)
    server.set_accept_state()
    client.set_connect_state()
    for _ in range(4):
        for one, other in ((client, server), (server, client)):
            with contextlib.suppress(SSL.WantReadError):
                one.do_handshake()
            if data := sealed(one):
                other.bio_write(data)
    with contextlib.suppress(SSL.WantReadError):
        client.recv(1)
    return server, client


def sealed(session: SSL.Connection, data: bytes = b"") -> bytes:
    found = []
    if data:
        session.sendall(data)
    with contextlib.suppress(SSL.WantReadError):
        while True:
            found.append(session.bio_read(65_535))
    return b"".join(found)


texts = st.lists(st.binary(min_size=1, max_size=40), max_size=20)
sizes = st.lists(st.integers(0, 60), max_size=20)
small = st.lists(st.integers(0, 3), max_size=40)


async def play(tapped: Tapped, pieces: list[bytes], busy: list[int], gaps: list[int], unread: list[int]) -> bytes:
    """What the client was sent; where `unread` says 3, it does not take it in."""
    reading = asyncio.ensure_future(tapped.read(busy))
    none = itertools.repeat(0)
    for piece, gap, waiting in zip(pieces, itertools.chain(gaps, none), itertools.chain(unread, none), strict=False):
        for _ in range(gap):
            await asyncio.sleep(0)
        tapped.client.waiting_bytes = waiting // 3
        tapped.server.say(piece)
    tapped.reader.feed_eof()
    await reading
    return bytes(tapped.client.sent)


@given(texts, sizes, small, small, small)
def test_nothing_overtakes_what_is_on_the_long_way(
    pieces: list[bytes], sizes: list[int], busy: list[int], gaps: list[int], unread: list[int]
) -> None:
    async def heard() -> bytes:
        return await play(Tapped(Taker(sizes)), pieces, busy, gaps, unread)

    assert asyncio.run(heard()) == b"".join(pieces)


@given(texts, sizes, small, small, small, st.lists(st.integers(1, 90), min_size=1))
def test_nor_inside_of_tls_however_its_records_are_cut(
    contexts: tuple[SSL.Context, SSL.Context],
    pieces: list[bytes],
    sizes: list[int],
    busy: list[int],
    gaps: list[int],
    unread: list[int],
    cuts: list[int],
) -> None:
    server, client = shake_hands(contexts)
    wire, cut = b"".join(sealed(server, piece) for piece in pieces), itertools.cycle(cuts)
    parts = []
    while wire:
        size = next(cut)
        parts.append(wire[:size])
        wire = wire[size:]

    async def heard() -> bytes:
        return await play(Tapped(Taker(sizes), client), parts, busy, gaps, unread)

    assert asyncio.run(heard()) == b"".join(pieces)


def test_a_piece_is_passed_on_before_any_task_runs() -> None:
    async def hear() -> None:
        taker = Taker()
        tapped = Tapped(taker)
        reading = asyncio.ensure_future(tapped.read())
        await asyncio.sleep(0)
        for piece in (b"one", b"two"):
            tapped.server.say(piece)
        assert bytes(tapped.client.sent) == b"onetwo"
        assert (taker.taken, tapped.passed) == ([b"one", b"two"], 2)
        tapped.tap.take_away()
        assert tapped.server.get_protocol() is tapped.below
        reading.cancel()

    asyncio.run(hear())


@pytest.mark.parametrize("state", [{"closing": True}, {"waiting_bytes": 1}])
def test_what_a_client_does_not_take_in_goes_the_long_way(state: dict[str, int]) -> None:
    async def hear() -> None:
        taker = Taker()
        tapped = Tapped(taker)
        reading = asyncio.ensure_future(tapped.read())
        await asyncio.sleep(0)
        vars(tapped.client).update(state)
        tapped.server.say(b"one")
        assert not taker.taken
        tapped.reader.feed_eof()
        await reading
        assert bytes(tapped.client.sent) == b"one"

    asyncio.run(hear())


def test_records_are_opened_and_passed_on_before_any_task_runs(contexts: tuple[SSL.Context, SSL.Context]) -> None:
    async def hear() -> None:
        server, client = shake_hands(contexts)
        taker = Taker()
        tapped = Tapped(taker, client)
        reading = asyncio.ensure_future(tapped.read())
        await asyncio.sleep(0)
        wire = sealed(server, b"one") + sealed(server, b"two") + sealed(server, b"three")
        tapped.server.say(wire[:-3])
        assert bytes(tapped.client.sent) == b"onetwo"
        tapped.server.say(wire[-3:])
        assert bytes(tapped.client.sent) == b"onetwothree"
        assert taker.taken == [b"one", b"two", b"three"]
        server.shutdown()
        tapped.server.say(sealed(server))  # mitmproxy comes upon the end
        reading.cancel()

    asyncio.run(hear())


def test_what_goes_to_a_client_with_a_session_is_sealed(contexts: tuple[SSL.Context, SSL.Context]) -> None:
    async def hear() -> None:
        server, client = shake_hands(contexts)
        socket = Socket()
        End(socket, asyncio.StreamReader(), server).send(b"0123456789" * 5_000)
        client.bio_write(bytes(socket.sent))
        opened = bytearray()
        with contextlib.suppress(SSL.WantReadError):
            while True:
                opened += client.recv(65_535)
        assert opened == b"0123456789" * 5_000
        server.shutdown()
        sealed(server)
        End(socket := Socket(), asyncio.StreamReader(), server).send(b"more")
        assert not socket.sent

    asyncio.run(hear())


def test_what_else_a_server_does_is_heard_below() -> None:
    async def hear() -> None:
        tapped = Tapped(Taker())
        assert tapped.tap.eof_received()
        assert tapped.reader.at_eof()
        tapped.tap.connection_lost(ConnectionResetError())
        assert isinstance(tapped.reader.exception(), ConnectionResetError)

    asyncio.run(hear())
