"""HTTP/1.1: heads of requests, and answers taken apart as they come in; pure, whatever the cuts of the network.

Written for one use: event streams of small chunks, which decide how many streams a core can follow (docs/replaying.md
has the numbers beside a general client). It reads the three ways a body can end (chunks, a length, the end of
the connection) and skips 1xx answers; what is no HTTP/1.1 raises ValueError.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

_HEAD_LIMIT: Final = 1 << 16
_SIZE_LIMIT: Final = 1 << 12  # a chunk's size with its extensions
_NO_BODY: Final = (204, 304)

_State = Literal["head", "length", "until_close", "size", "chunk", "chunk_end", "trailers", "complete"]


class ResponseReader:
    """Of one answer. `status` is None until its head is in."""

    __slots__ = ("_kept", "_left", "_state", "keeps_alive", "status")

    def __init__(self) -> None:
        self._state: _State = "head"
        self._kept = b""  # of a head or of a chunk's size, not whole yet
        self._left = 0  # bytes of the body, or of the chunk
        self.status: int | None = None
        self.keeps_alive = True  # may the connection carry another request after this answer?

    @property
    def complete(self) -> bool:
        return self._state == "complete"

    def feed(self, data: bytes) -> bytes:
        """The bytes of the body in `data`; ValueError for what is no HTTP/1.1, and for bytes behind the answer."""
        if self._kept:
            data, self._kept = self._kept + data, b""
        if self._state == "head":
            at = self._read_heads(data)
            if at is None:
                return b""
            data = data[at:]
        if self._state in ("length", "until_close"):
            return self._count(data)
        return self._unchunk(data)

    def end(self) -> bool:
        """The connection is over; was the answer whole?"""
        if self._state == "until_close":
            self._state = "complete"
        return self._state == "complete"

    def _read_heads(self, data: bytes) -> int | None:
        """Where the body begins; None while the head is not whole. Every 1xx answer is read over."""
        at = 0
        while self._state == "head":
            end = data.find(b"\r\n\r\n", at)
            if end < 0:
                self._keep(data[at:], _HEAD_LIMIT)
                return None
            self._read_head(data[at:end])
            at = end + 4
        return at

    def _read_head(self, head: bytes) -> None:
        first, *lines = head.split(b"\r\n")
        version, _, rest = first.partition(b" ")
        if not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
            raise ValueError("the answer is no HTTP/1.1")
        status = int(rest[:3])
        if 100 <= status < 200:
            return
        self.status = status
        headers = {name.strip().lower(): value.strip().lower() for name, _, value in (x.partition(b":") for x in lines)}
        connection = headers.get(b"connection", b"")
        self.keeps_alive = b"close" not in connection and (version != b"HTTP/1.0" or b"keep-alive" in connection)
        self._choose_body(status, headers)

    def _choose_body(self, status: int, headers: dict[bytes, bytes]) -> None:
        if b"chunked" in headers.get(b"transfer-encoding", b""):
            self._state = "size"
        elif status in _NO_BODY or headers.get(b"content-length") == b"0":
            self._state = "complete"
        elif (length := headers.get(b"content-length")) is not None:
            if not length.isdigit():
                raise ValueError("the answer's length is no number")
            self._state, self._left = "length", int(length)
        else:
            self._state, self.keeps_alive = "until_close", False

    def _count(self, data: bytes) -> bytes:
        if self._state == "length":
            if len(data) > self._left:
                raise ValueError("bytes came behind the answer")
            self._left -= len(data)
            if not self._left:
                self._state = "complete"
        return data

    def _unchunk(self, data: bytes) -> bytes:
        pieces: list[bytes] = []
        at = 0
        while at < len(data):
            if self._state == "size":
                at = self._take_whole_chunks(data, at, pieces)
                at = self._read_size(data, at)
            elif self._state == "chunk":
                piece = data[at : at + self._left]
                pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
                if not self._left:
                    self._state = "chunk_end"
            elif self._state == "chunk_end":
                at = self._read_chunk_end(data, at)
            else:
                at = self._read_trailers(data, at)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _take_whole_chunks(self, data: bytes, at: int, pieces: list[bytes]) -> int:
        """As many chunks as are there from beginning to end, which most are: the short way."""
        with suppress(ValueError):  # an extension, or nonsense: the long way tells
            while (end := data.find(b"\r\n", at)) > 0:
                start = end + 2
                stop = start + int(data[at:end], 16)
                if stop <= start or data[stop : stop + 2] != b"\r\n":
                    break
                pieces.append(data[start:stop])
                at = stop + 2
        return at

    def _read_size(self, data: bytes, at: int) -> int:
        end = data.find(b"\r\n", at)
        if end < 0:
            self._keep(data[at:], _SIZE_LIMIT)
            return len(data)
        self._left = _chunk_size(data[at:end])
        self._state = "chunk" if self._left else "trailers"
        return end + 2

    def _read_chunk_end(self, data: bytes, at: int) -> int:
        end = data[at : at + 2]
        if not b"\r\n".startswith(end):
            raise ValueError("a chunk is longer than it says")
        if len(end) < 2:
            self._kept = end
        else:
            self._state = "size"
        return at + len(end)

    def _read_trailers(self, data: bytes, at: int) -> int:
        if self._state == "complete":
            raise ValueError("bytes came behind the answer")
        end = data.find(b"\r\n", at)
        if end < 0:
            self._keep(data[at:], _HEAD_LIMIT)
            return len(data)
        if end == at:
            self._state = "complete"
        return end + 2

    def _keep(self, data: bytes, limit: int) -> None:
        if len(data) > limit:
            raise ValueError("a head in the answer does not end")
        self._kept = data


def _chunk_size(line: bytes) -> int:
    try:
        size = int(line.partition(b";")[0], 16) if b";" in line else int(line, 16)
    except ValueError:
        raise ValueError("a chunk's size is no number") from None
    if size < 0:
        raise ValueError("a chunk's size is below zero")
    return size


def request_head(method: str, url: str, own: Mapping[str, str], given: Mapping[str, str]) -> bytes:
    """The head of a request but its length and the empty line; what is `given` replaces what is our own."""
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    mine = {"Host": parts.netloc.rpartition("@")[2], "User-Agent": "agentreel", **own}
    if parts.username is not None:
        named = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        mine["Authorization"] = "Basic " + base64.b64encode(named.encode()).decode()
    taken = {name.lower() for name in given}
    kept = {name: value for name, value in mine.items() if name.lower() not in taken}
    return f"{method} {target} HTTP/1.1\r\n".encode() + head_lines({**kept, **given})


def head_lines(headers: Mapping[str, str]) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode()
