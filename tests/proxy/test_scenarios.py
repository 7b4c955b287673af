"""Every recorded scenario, client and provider played from the file, through the real recorder: no byte changes on the
way, and each exchange is stored once, whole, under the right name and with the right ending.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence

import pytest

from corpus.exchange import Exchange
from tests.proxy.captured import claude_scenarios, codex_scenarios, needs_captures
from tests.proxy.conftest import Recording
from tests.proxy.loopback import TIMEOUT_S, Client, RawRequest
from tests.proxy.scenarios import HangUp, Line, Posted, claude_scenario, codex_scenario
from tests.proxy.websockets import DEFLATE, MASK, SWITCHING, Packer, frame, receive


def with_host(head: bytes, authority: str) -> bytes:
    """`head` with the value of its Host header."""
    return head.replace(b"\r\nHost: \r\n", f"\r\nHost: {authority}\r\n".encode()).replace(
        b"\r\nhost: \r\n", f"\r\nhost: {authority}\r\n".encode()
    )


def authority_of(url: str) -> str:
    return url.removeprefix("http://").split("/")[0]


def play(recording: Recording, url: str, exchange: Posted, path: bytes) -> None:
    """`path`: that the upstream must see."""
    gone = threading.Event()

    def answer(connection: socket.socket, _request: RawRequest) -> None:
        connection.sendall(exchange.answer)
        if exchange.hang_up == "client":
            assert connection.recv(1) == b""
            gone.set()
        if exchange.hang_up != "nobody":
            raise EOFError

    recording.upstream.answer = answer
    with Client(url) as client:
        client.send(with_host(exchange.head + b"\r\n", authority_of(url)) + b"\r\n" + exchange.body)
        if exchange.hang_up == "upstream":
            assert client.read_all() == exchange.answer
        elif exchange.answer:
            assert client.read_until(exchange.answer[-200:]) == exchange.answer
        heard = recording.upstream.next_request()
    method, _, version = exchange.head.split(b"\r\n")[0].split(b" ")
    head = b"%s %s %s\r\n" % (method, path, version) + exchange.head.split(b"\r\n", 1)[1]
    assert heard.head == with_host(head + b"\r\n", authority_of(recording.upstream.url))[:-2]
    assert heard.body == exchange.body
    assert exchange.hang_up != "client" or gone.wait(TIMEOUT_S)


def check(stored: Exchange, exchange: Posted) -> None:
    if stored.request.body:  # private requests have none
        assert stored.request.body == exchange.body
    assert stored.response is not None
    assert stored.response.body in (exchange.answer_body, b"")
    assert stored.end == exchange.end
    check_identity(stored, exchange.who)


def check_identity(stored: Exchange, who: dict[str, str | None]) -> None:
    heard = stored.request.identity
    assert {name: getattr(heard, name) for name in who} == who


@needs_captures
@pytest.mark.parametrize("name", claude_scenarios())
def test_claude_code_scenario(recording: Recording, name: str) -> None:
    exchanges = list(claude_scenario(name))
    for exchange in exchanges:
        play(recording, recording.recorder.anthropic_url, exchange, exchange.head.split(b" ")[1])
    stored = recording.exchanges()
    assert len(stored) == len(exchanges)
    for one, exchange in zip(stored, exchanges, strict=True):
        check(one, exchange)
        if one.request.api != "other":
            assert one.request.body == exchange.body
            assert one.request.identity.harness == "claude-code"
    assert recording.stop().listen_errors == 0


@needs_captures
@pytest.mark.parametrize("name", codex_scenarios())
def test_codex_scenario(recording: Recording, name: str) -> None:
    played = list(codex_scenario(name))
    for one in played:
        if isinstance(one, Line):
            talk(recording, one)
        else:
            play(recording, recording.recorder.openai_url, one, upstream_path(one.head))
    stored = recording.exchanges()
    assert len(stored) == sum(1 if isinstance(one, Posted) else len(one.turns) or 1 for one in played)
    check_played(stored, played)
    assert recording.stop().listen_errors == 0


def upstream_path(head: bytes) -> bytes:
    """With a ChatGPT login everything goes to that upstream; what is under its own path already stays there."""
    path = head.split(b" ")[1]
    if b"\r\nchatgpt-account-id:" not in head.lower():
        return path  # a side call under the ChatGPT upstream's own path is known by that
    return path.replace(b"/v1", b"/backend-api/codex", 1) if path.startswith(b"/v1") else path


def check_played(stored: Sequence[Exchange], played: Sequence[Posted | Line]) -> None:
    rest = iter(stored)
    for one in played:
        if isinstance(one, Posted):
            check(next(rest), one)
            continue
        for turn in one.turns:
            exchange = next(rest)
            assert exchange.request.api == "openai-responses-ws"
            assert exchange.request.body == turn.message
            assert exchange.response is not None
            assert exchange.response.messages == turn.answer
            assert exchange.end == turn.end
            check_identity(exchange, turn.who)
            goes_on = b'"previous_response_id":"' in turn.message
            assert (exchange.request.previous is not None) == goes_on
            if b'"generate":false' in turn.message:
                assert exchange.request.identity.purpose == "prewarm"
        if not one.turns:
            assert next(rest).end == "complete"


def talk(recording: Recording, line: Line) -> None:
    """Plays one connection; both ends check every byte."""
    down, up = Packer(), Packer()
    asked = [up.frame(turn.message, MASK) if line.packed else frame(turn.message, mask=MASK) for turn in line.turns]
    told = [b"".join(down.frame(one) if line.packed else frame(one) for one in turn.answer) for turn in line.turns]
    heard: list[bytes] = []
    done = threading.Event()

    def answer(connection: socket.socket, _request: RawRequest) -> None:
        connection.sendall(SWITCHING + (DEFLATE if line.packed else b"") + b"\r\n")
        for sent, said in zip(asked, told, strict=True):
            heard.append(receive(connection, len(sent)))
            connection.sendall(said)
        if line.hang_up == "client":
            heard.append(connection.recv(1))
        done.set()
        raise EOFError

    recording.upstream.answer = answer
    url = recording.recorder.openai_url
    with Client(url) as client:
        client.send(with_host(line.head + b"\r\n", authority_of(url)) + b"\r\n")
        head = client.read_until(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 ")
        for sent, said in zip(asked, told, strict=True):
            client.send(sent)
            if said:
                assert client.read_until(said[-40:]) == said
        if line.hang_up == "upstream":
            assert client.read_all() == b""
    assert done.wait(TIMEOUT_S)
    assert heard == asked + ([b""] if line.hang_up == "client" else [])
    request = recording.upstream.next_request()
    first, rest = line.head.split(b"\r\n", 1)
    path = upstream_path(line.head)
    expected = b"GET %s HTTP/1.1\r\n" % path + rest
    assert first.startswith(b"GET ")
    assert request.head == with_host(expected + b"\r\n", authority_of(recording.upstream.url))[:-2]


def hang_ups(played: Sequence[Posted | Line]) -> set[HangUp]:
    return {one.hang_up for one in played}


@needs_captures
def test_the_scenarios_hold_every_kind_of_ending() -> None:
    claude = [one for name in claude_scenarios() for one in claude_scenario(name)]
    codex = [one for name in codex_scenarios() for one in codex_scenario(name)]
    assert hang_ups(claude) == {"nobody", "upstream", "client"}
    assert hang_ups(codex) == {"nobody", "upstream", "client"}
    assert sum(len(one.turns) for one in codex if isinstance(one, Line)) > 60
