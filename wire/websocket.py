"""WebSocket messages, read out of the bytes of one direction (RFC 6455, permessage-deflate of RFC 7692).

For listening only: nothing is answered, masked or checked beyond what reading needs, and what is no WebSocket raises
WireError. Feeding the same bytes in any cuts gives the same messages, in linear time. Compressed messages need no
parameters of the handshake: a sender that forgets its window between messages only refers to less than one that does
not, and no window is larger than the one assumed.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Final, Literal

from wire.errors import WireError

MessageKind = Literal["text", "binary", "close", "ping", "pong"]

MAX_MESSAGE_BYTES: Final = 256 * 1024 * 1024

_KINDS: Final[dict[int, MessageKind]] = {1: "text", 2: "binary", 8: "close", 9: "ping", 10: "pong"}
_CONTINUED: Final = 0
_CONTROL: Final = 8  # opcodes from here on: short, never cut into frames, and they may stand between frames of others
_FIN, _COMPRESSED, _RESERVED = 0x80, 0x40, 0x30
_MASKED: Final = 0x80
_LENGTH_BYTES: Final = {126: 2, 127: 8}
_FLUSHED: Final = b"\x00\x00\xff\xff"  # what a compressor leaves out at the end of a message


@dataclass(frozen=True, slots=True)
class Message:
    kind: MessageKind
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Frame:
    head: int  # first byte: flags and opcode
    start: int  # of the payload
    end: int
    mask: bytes


class MessageReader:
    """Give it bytes as they come; it gives back the messages they completed. Unusable after a WireError."""

    def __init__(self, max_message_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._limit = max_message_bytes
        self._buffer = bytearray()
        self._kind: MessageKind | None = None  # of the message whose frames are coming in
        self._compressed = False
        self._pieces: list[bytes] = []
        self._size = 0
        self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)

    @property
    def pending(self) -> bool:
        """Whether a message began that is not whole."""
        return bool(self._buffer or self._pieces)

    def feed(self, data: bytes) -> list[Message]:
        self._buffer += data
        messages: list[Message] = []
        position = 0
        while (frame := self._frame_at(position)) is not None:
            payload = bytes(self._buffer[frame.start : frame.end])
            position = frame.end
            message = self._take(frame.head, _unmasked(payload, frame.mask))
            if message is not None:
                messages.append(message)
        del self._buffer[:position]
        return messages

    def _frame_at(self, at: int) -> _Frame | None:
        """The frame that begins there; None while it is not whole."""
        buffer = self._buffer
        if len(buffer) < at + 2:
            return None
        length, masked = buffer[at + 1] & 0x7F, bool(buffer[at + 1] & _MASKED)
        start = at + 2
        if extended := _LENGTH_BYTES.get(length, 0):
            if len(buffer) < start + extended:
                return None
            length = int.from_bytes(buffer[start : start + extended])
            start += extended
        if self._size + length > self._limit:
            raise WireError(f"message is larger than {self._limit} bytes")
        mask = bytes(buffer[start : start + 4]) if masked else b""
        start += 4 if masked else 0
        if len(buffer) < start + length:
            return None
        return _Frame(buffer[at], start, start + length, mask)

    def _take(self, head: int, payload: bytes) -> Message | None:
        """One frame's payload; the message that it completes."""
        opcode, kind = head & 0x0F, _KINDS.get(head & 0x0F)
        if head & _RESERVED or (kind is None and opcode != _CONTINUED):
            raise WireError("a frame is of no known kind")
        if kind is not None and opcode >= _CONTROL:
            return Message(kind, payload)
        if (kind is None) is (self._kind is None):
            raise WireError("frames of messages are mixed up")
        if kind is not None:
            self._kind, self._compressed = kind, bool(head & _COMPRESSED)
        self._pieces.append(payload)
        self._size += len(payload)
        return self._whole() if head & _FIN else None

    def _whole(self) -> Message:
        assert self._kind is not None
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        message = Message(self._kind, self._inflated(data) if self._compressed else data)
        self._kind, self._pieces, self._size = None, [], 0
        return message

    def _inflated(self, data: bytes) -> bytes:
        try:
            whole = self._inflater.decompress(data + _FLUSHED, self._limit + 1)
        except zlib.error:
            raise WireError("a message does not decompress") from None
        if len(whole) > self._limit:
            raise WireError(f"message is larger than {self._limit} bytes")
        if self._inflater.eof:  # its last block was marked as the stream's last, so the next message starts anew
            self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        return whole


def _unmasked(payload: bytes, mask: bytes) -> bytes:
    if not mask or not payload:
        return payload
    size = len(payload)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload) ^ int.from_bytes(key)).to_bytes(size)
