"""Both ends of a WebSocket over plain sockets: frames are built and cut here, so that every byte is ours."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import zlib
from collections.abc import Callable, Iterator

import orjson

from tests.proxy.loopback import TIMEOUT_S, Client, RawRequest

SWITCHING = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Accept: whatever\r\nx-codex-turn-state: t1\r\n"
)
DEFLATE = b"Sec-WebSocket-Extensions: permessage-deflate\r\n"


def upgrade(*headers: tuple[str, str], path: str = "/v1/responses") -> bytes:
    lines = [f"GET {path} HTTP/1.1", "Host: localhost", "Connection: Upgrade", "Upgrade: websocket"]
    lines += ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join([*lines, "", ""]).encode()


def frame(payload: bytes, *, opcode: int = 1, mask: bytes = b"", fin: bool = True, compressed: bool = False) -> bytes:
    head = (0x80 if fin else 0) | (0x40 if compressed else 0) | opcode
    masked, size = (0x80 if mask else 0), len(payload)
    if size < 126:
        length = bytes([masked | size])
    elif size < 1 << 16:
        length = bytes([masked | 126]) + struct.pack(">H", size)
    else:
        length = bytes([masked | 127]) + struct.pack(">Q", size)
    if mask:
        key = int.from_bytes((mask * (size // 4 + 1))[:size])
        payload = (int.from_bytes(payload) ^ key).to_bytes(size) if size else b""
    return bytes([head]) + length + mask + payload


class Packer:
    """permessage-deflate of one direction, its window kept from message to message."""

    def __init__(self) -> None:
        self._compressor = zlib.compressobj(wbits=-15)

    def frame(self, payload: bytes, mask: bytes = b"") -> bytes:
        packed = self._compressor.compress(payload) + self._compressor.flush(zlib.Z_SYNC_FLUSH)
        return frame(packed[:-4], mask=mask, compressed=True)


MASK = b"\x11\x22\x33\x44"


def create(number: int = 1, **fields: object) -> bytes:
    """A turn's request."""
    return orjson.dumps({"type": "response.create", "model": "m", "stream": True, "input": [{"n": number}]} | fields)


def events(name: str, *texts: str) -> list[bytes]:
    """A turn's answer: created, an item for each text, completed."""
    done = [
        {
            "type": "response.output_item.done",
            "output_index": index,
            "item": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]},
        }
        for index, text in enumerate(texts)
    ]
    usage = {"input_tokens": 7, "output_tokens": 2}
    last = {"type": "response.completed", "response": {"id": name, "status": "completed", "usage": usage}}
    first = {"type": "response.created", "response": {"id": name, "status": "in_progress"}}
    return [orjson.dumps(event) for event in (first, *done, last)]


Talk = Callable[[socket.socket], None]


def upgraded(talk: Talk, *, extra: bytes = b"") -> Callable[[socket.socket, RawRequest], None]:
    """An upstream's answer: switch protocols, let `talk` have the socket, then hang up."""

    def answer(connection: socket.socket, _request: RawRequest) -> None:
        connection.sendall(SWITCHING + extra + b"\r\n")
        talk(connection)
        raise EOFError

    return answer


def receive(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


@contextlib.contextmanager
def connected(url: str, *headers: tuple[str, str], path: str = "/v1/responses") -> Iterator[Client]:
    with Client(url) as client:
        client.send(upgrade(*headers, path=path))
        head = client.read_until(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 ")
        yield client


def hold() -> tuple[threading.Event, Talk]:
    """An event, and a talk that lasts until it is set."""
    go_on = threading.Event()

    def wait(_connection: socket.socket) -> None:
        assert go_on.wait(TIMEOUT_S)

    return go_on, wait
