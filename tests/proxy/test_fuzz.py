"""Spoilt bodies, streams and frames: nothing of the recorder raises, every exchange ends once, every byte passes."""

from __future__ import annotations

import random
import socket
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus.exchange import Headers, Identity, RequestRecord, ResponseRecord
from proxy.annotator import Annotator
from proxy.assembler import Assembler, Chunk, Ended, Event, RequestBody, RequestHead, ResponseHead
from proxy.thinning import without_pieces
from tests.proxy.conftest import Recording
from tests.proxy.loopback import Client
from tests.proxy.mutations import ANSWERS, REQUESTS, spoilt, spoilt_ones
from tests.proxy.test_turns import Wire
from tests.proxy.websockets import MASK, Packer, connected, create, events, frame, receive, upgraded
from wire.api import api_of
from wire.sse import SseSplitter, split_sse

PATHS = (*REQUESTS, "/v1/other", "/v1internal:generateContent")
HEADERS: Headers = (("x-claude-code-session-id", "s"), ("user-agent", "claude-cli/2.1.328"))
ENCODINGS = st.sampled_from(["", "gzip", "zstd", "br", "deflate", "gzip, br", "nonsense"])
KINDS = st.sampled_from(["text/event-stream", "application/json", ""])


def asked(number: int, path: str, body: bytes, encoding: str) -> RequestRecord:
    headers: Headers = (*HEADERS, ("content-encoding", encoding)) if encoding else HEADERS
    where = ("POST", path, api_of("POST", path), "u")
    return RequestRecord(f"e{number}", 1, 2, *where, headers, Identity(), None, len(body), body)


def answered(request: RequestRecord, body: bytes, kind: str, encoding: str) -> ResponseRecord:
    headers: Headers = (("content-type", kind), ("content-encoding", encoding))
    heard = (200, headers, 3, 4, 5, (len(body),), (1,))
    return ResponseRecord(request.exchange_id, "complete", *heard, None, None, len(body), body)


exchanges = st.tuples(
    st.sampled_from(PATHS), spoilt_ones(*REQUESTS.values()), ENCODINGS, spoilt_ones(*ANSWERS), KINDS, st.booleans()
)


@settings(max_examples=300)
@given(st.lists(exchanges, min_size=1, max_size=4))
def test_any_bodies_are_annotated(heard: list[tuple[str, bytes, str, bytes, str, bool]]) -> None:
    annotator = Annotator()
    for number, (path, body, encoding, answer, kind, as_turn) in enumerate(heard):
        request = asked(number, path, body, encoding)
        if as_turn and path == "/v1/responses":
            request = replace(request, api="openai-responses-ws", method="GET")
        noted = annotator.annotate_request(request)
        assert (noted.body, noted.exchange_id) == (body, request.exchange_id)
        _, response = annotator.annotate_response(answered(request, answer, kind, encoding))
        assert response.body == answer


@settings(max_examples=200)
@given(spoilt_ones(*ANSWERS), st.integers(1, 64))
def test_streams_are_split_alike_however_they_are_cut(stream: bytes, step: int) -> None:
    splitter = SseSplitter()
    found = [event for at in range(0, len(stream), step) for event in splitter.feed(stream[at : at + step])]
    assert found == split_sse(stream)
    without_pieces(stream)


@given(st.lists(spoilt_ones(*ANSWERS), max_size=5), st.permutations(range(3)))
def test_an_exchange_comes_out_once_and_whole_whatever_was_in_it(pieces: list[bytes], order: list[int]) -> None:
    assembler = Assembler(RequestHead("e", 0, "POST", "/", "other", "u", ()))
    parts: list[list[Event]] = [
        [RequestBody(1, b"x")],
        [ResponseHead(2, 200, ())],
        [Chunk(3, piece) for piece in pieces],
    ]
    told = [record for part in order for event in parts[part] for record in assembler.feed(event)]
    told += assembler.feed(Ended(9))
    assert [type(record) for record in told] == [RequestRecord, ResponseRecord]
    assert told[1].body == b"".join(pieces)
    assert assembler.feed(Ended(10)) == ()


messages = spoilt_ones(create(), *events("r1", "x"), REQUESTS["/v1/responses"])


@settings(max_examples=200)
@given(st.lists(st.tuples(st.booleans(), messages, st.randoms()), max_size=8), st.booleans())
def test_spoilt_frames_end_every_exchange_once(
    said: list[tuple[bool, bytes, random.Random]], spoil_frames: bool
) -> None:
    wire = Wire()
    packers = {True: Packer(), False: Packer()}
    for from_client, message, chance in said:
        mask = MASK if from_client else b""
        sent = packers[from_client].frame(message, mask) if chance.random() < 0.3 else frame(message, mask=mask)
        wire.connection.hear(spoilt(sent, chance) if spoil_frames else sent, from_client=from_client)
    wire.connection.end(client_left=True)
    assert wire.hearing.open == {}
    annotator = Annotator()
    for exchange in wire.exchanges():
        assert exchange.response
        annotator.annotate_request(exchange.request)
        annotator.annotate_response(exchange.response)


# --- through the recorder


@pytest.mark.parametrize("seed", range(6))
def test_spoilt_bodies_and_streams_pass_byte_for_byte_and_end_once(recording: Recording, seed: int) -> None:
    chance = random.Random(seed)
    sent: list[tuple[bytes, bytes]] = []
    for _ in range(25):
        body, answer = (spoilt(chance.choice(choices), chance) for choices in (tuple(REQUESTS.values()), ANSWERS))
        encoding = chance.choice(("", "Content-Encoding: gzip", "Content-Encoding: zstd"))
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {len(answer)}\r\n{encoding}"
        whole = head.rstrip().encode() + b"\r\n\r\n" + answer
        recording.upstream.answer = lambda connection, _request, whole=whole: connection.sendall(whole)  # type: ignore[misc]
        url = chance.choice((recording.url, recording.recorder.openai_url.removesuffix("/v1")))
        with Client(url) as client:
            client.post(chance.choice(tuple(REQUESTS)), body, (encoding,) if encoding else ())
            got = client.response()
        assert got[0] + got[1] == whole
        assert recording.upstream.next_request().body == body
        sent.append((body, answer))
    stored = recording.exchanges()
    assert [(e.request.body, e.response.body if e.response else None) for e in stored] == sent
    totals = recording.stop()
    assert (totals.listen_errors, totals.write_errors) == (0, 0)


@pytest.mark.parametrize("seed", range(4))
def test_spoilt_frames_pass_byte_for_byte_and_end_once(recording: Recording, seed: int) -> None:
    chance = random.Random(seed)
    number = count()
    for _ in range(8):
        up = b"".join(spoilt(frame(create(next(number)), mask=MASK), chance) for _ in range(3))
        down = b"".join(spoilt(frame(one), chance) for one in events("r1", "x")) or b"?"

        def talk(connection: socket.socket, up: bytes = up, down: bytes = down) -> None:
            assert receive(connection, len(up)) == up
            connection.sendall(down)

        recording.upstream.answer = upgraded(talk)
        with connected(recording.recorder.openai_url) as client:
            client.send(up)
            assert client.read_all() == down
    stored = recording.exchanges()
    assert stored
    assert all(exchange.response for exchange in stored)
    assert recording.stop().write_errors == 0
