"""A scripted upstream and a raw client on loopback: plain sockets in threads, so every byte and its order is ours."""

from __future__ import annotations

import contextlib
import queue
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

TIMEOUT_S = 30.0  # no test waits that long unless it fails

OK_JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
SSE_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENT = b'event: ping\ndata: {"type":"ping"}\n\n'


@dataclass(frozen=True, slots=True)
class RawRequest:
    head: bytes  # request line and headers, without the blank line
    body: bytes

    @property
    def line(self) -> bytes:
        return self.head.split(b"\r\n")[0]

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        return [_field(line) for line in self.head.split(b"\r\n")[1:]]


def _field(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    return name, value.strip()


Answer = Callable[[socket.socket, RawRequest], None]


def answer_with(data: bytes) -> Answer:
    return lambda connection, _request: connection.sendall(data)


class Upstream:
    """Accepts connections for ever; `answer` is asked for every request. Closes a connection when `answer` raises.

    `on_body` is called when part of a body is there; the connection is closed when it raises.
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.requests: queue.Queue[RawRequest] = queue.Queue()
        self.answer: Answer = answer_with(OK_JSON)
        self.on_body: Callable[[socket.socket], None] = lambda _connection: None
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        scheme = "https" if context else "http"
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def next_request(self) -> RawRequest:
        return self.requests.get(timeout=TIMEOUT_S)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(TIMEOUT_S)
        with contextlib.suppress(OSError, EOFError), contextlib.ExitStack() as stack:
            stack.enter_context(connection)
            if self._context is not None:
                connection = stack.enter_context(self._context.wrap_socket(connection, server_side=True))
            buffer = bytearray()
            while True:
                request = _read_request(connection, buffer, lambda: self.on_body(connection))
                self.requests.put(request)
                self.answer(connection, request)


def reset(connection: socket.socket) -> None:
    """Close with a TCP reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


class Client:
    """One raw connection."""

    def __init__(self, base_url: str) -> None:
        authority = base_url.removeprefix("http://").split("/")[0]
        host, _, port = authority.partition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=TIMEOUT_S)
        self._buffer = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def post(self, path: str, body: bytes = b"{}", headers: tuple[str, ...] = ()) -> None:
        lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", *headers, f"Content-Length: {len(body)}", "", ""]
        self.send("\r\n".join(lines).encode() + body)

    def read_until(self, mark: bytes) -> bytes:
        """Everything up to and with `mark`; EOFError when the peer closes before."""
        while mark not in self._buffer:
            _receive(self.socket, self._buffer)
        end = self._buffer.index(mark) + len(mark)
        data = bytes(self._buffer[:end])
        del self._buffer[:end]
        return data

    def read_all(self) -> bytes:
        with contextlib.suppress(EOFError):
            while True:
                _receive(self.socket, self._buffer)
        return bytes(self._buffer)

    def response(self) -> tuple[bytes, bytes]:
        """Head and body as on the wire of one response with a length or chunks."""
        head = self.read_until(b"\r\n\r\n")
        lower = head.lower()
        if b"transfer-encoding: chunked" in lower:
            return head, self.read_until(b"0\r\n\r\n")
        length = int(lower.partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
        while len(self._buffer) < length:
            _receive(self.socket, self._buffer)
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return head, body


def _read_request(connection: socket.socket, buffer: bytearray, on_body: Callable[[], None]) -> RawRequest:
    while b"\r\n\r\n" not in buffer:
        _receive(connection, buffer)
    end = buffer.index(b"\r\n\r\n")
    head = bytes(buffer[:end])
    del buffer[: end + 4]
    lower = head.lower()
    length = int(lower.partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
    while len(buffer) < length:
        if buffer:
            on_body()
        _receive(connection, buffer)
    body = bytes(buffer[:length])
    del buffer[:length]
    return RawRequest(head, body)


def _receive(connection: socket.socket, buffer: bytearray) -> None:
    data = connection.recv(65536)
    if not data:
        raise EOFError
    buffer += data


def chunked(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)


def wait_refused(url: str) -> None:
    """Until the listener is closed."""
    while True:
        try:
            Client(url).socket.close()
        except ConnectionRefusedError:
            return
        except ConnectionResetError:
            continue  # it was in the queue when the listener closed
