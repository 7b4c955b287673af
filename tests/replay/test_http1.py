from __future__ import annotations

from collections.abc import Set as AbstractSet
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.http1 import ResponseReader, request_head

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


def chunked(*pieces: bytes, trailers: bytes = b"") -> bytes:
    framed = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + framed + b"0\r\n" + trailers + b"\r\n"


def read(data: bytes, cuts: AbstractSet[int] = frozenset()) -> tuple[bytes, ResponseReader]:
    reader = ResponseReader()
    bounds = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    return b"".join(reader.feed(data[a:b]) for a, b in pairwise(bounds)), reader


@given(
    pieces=st.lists(st.binary(min_size=1, max_size=40), max_size=5),
    trailers=st.sampled_from([b"", b"X-A: 1\r\n"]),
    cuts=st.sets(st.integers(1, 400), max_size=12),
)
def test_cuts_of_the_network_change_nothing(pieces: list[bytes], trailers: bytes, cuts: set[int]) -> None:
    body, reader = read(chunked(*pieces, trailers=trailers), cuts)
    assert body == b"".join(pieces)
    assert (reader.complete, reader.status, reader.keeps_alive) == (True, 200, True)


@given(body=st.binary(max_size=60), cuts=st.sets(st.integers(1, 160), max_size=6))
def test_a_length_ends_the_body(body: bytes, cuts: set[int]) -> None:
    heard, reader = read(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body, cuts)
    assert (heard, reader.complete) == (body, True)


def test_without_length_the_end_of_the_connection_ends_the_body() -> None:
    body, reader = read(HEAD + b"\r\nabc")
    assert (body, reader.complete, reader.keeps_alive) == (b"abc", False, False)
    assert reader.end()
    assert reader.complete


@pytest.mark.parametrize("data", [b"", HEAD, HEAD + b"Content-Length: 3\r\n\r\nab", chunked(b"abc")[:-3]])
def test_answer_that_is_cut_is_not_whole(data: bytes) -> None:
    assert not read(data)[1].end()


def test_interim_answers_are_read_over() -> None:
    body, reader = read(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + chunked(b"x"))
    assert (body, reader.status) == (b"x", 200)


def test_extension_of_a_chunk_is_read_over() -> None:
    body, reader = read(HEAD + b"Transfer-Encoding: chunked\r\n\r\n3;x=1\r\nabc\r\n0\r\n\r\n")
    assert (body, reader.complete) == (b"abc", True)


@pytest.mark.parametrize(
    ("head", "keeps"),
    [
        (b"HTTP/1.1 200 OK\r\n", True),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n", False),
        (b"HTTP/1.0 200 OK\r\n", False),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n", True),
    ],
)
def test_connection_is_kept_as_the_server_says(head: bytes, keeps: bool) -> None:
    assert read(head + b"content-length: 0\r\n\r\n")[1].keeps_alive is keeps


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        HEAD + b"Content-Length: x\r\n\r\n",
        HEAD + b"Content-Length: 1\r\n\r\nab",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n-2\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nabcd",
        chunked(b"a") + b"x",
        b"H" * 70_000,
    ],
)
def test_what_is_no_http_is_told(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"answer|chunk"):
        read(data)


def test_head_of_a_request_names_the_host_and_what_was_given_wins() -> None:
    head = request_head("POST", "http://u:p%40@host:81/v1/x?a=b", {"Accept": "a"}, {"accept": "mine", "X-Id": "7"})
    first, *lines = head.decode().split("\r\n")
    assert first == "POST /v1/x?a=b HTTP/1.1"
    assert dict(line.split(": ") for line in lines if line) == {
        "Host": "host:81",
        "User-Agent": "agentreel",
        "Authorization": "Basic dTpwQA==",
        "accept": "mine",
        "X-Id": "7",
    }
