from __future__ import annotations

import asyncio
import socket

import pytest

from corpus.errors import InputError
from proxy.sockets import bind, port_of, reserve


def test_a_free_port_is_found_and_can_be_listened_on() -> None:
    with bind("localhost", 0) as bound:
        bound.listen()
        with socket.create_connection(("127.0.0.1", port_of(bound))):
            pass


def test_a_taken_port_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for take in (bind, reserve):
            with pytest.raises(InputError, match=f"^port {port}: is already in use"):
                take("127.0.0.1", port)


def test_workers_share_a_reserved_port_and_connections_reach_only_those_who_listen() -> None:
    with reserve("127.0.0.1", 0) as held:
        port = port_of(held)
        with bind("127.0.0.1", port, shared=True) as one, bind("127.0.0.1", port, shared=True) as other:
            one.listen()
            other.listen()
            for _ in range(20):
                socket.create_connection(("127.0.0.1", port)).close()
            one.setblocking(False)
            other.setblocking(False)
            accepted = sum(_accept_all(listener) for listener in (one, other))
    assert accepted == 20


def _accept_all(listener: socket.socket) -> int:
    number = 0
    while True:
        try:
            listener.accept()[0].close()
        except BlockingIOError:
            return number
        number += 1


def test_a_second_recorder_does_not_share_by_accident() -> None:
    with reserve("127.0.0.1", 0) as held, bind("127.0.0.1", port_of(held), shared=True) as worker:
        worker.listen()
        with pytest.raises(InputError, match="is already in use"):
            reserve("127.0.0.1", port_of(held))


def test_a_host_that_is_no_address_is_one_line() -> None:
    with pytest.raises(InputError, match=r"^--host: "):
        bind("no.such.host.invalid", 0)
    with pytest.raises(InputError, match="cannot be listened on"):
        bind("192.0.2.1", 0)


async def test_connections_that_are_accepted_do_not_collect_small_pieces() -> None:
    accepted: list[int] = []

    def note(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    async with await asyncio.start_server(note, sock=bind("127.0.0.1", 0)) as server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        await reader.read()
        writer.close()
    assert accepted
    assert all(accepted)
