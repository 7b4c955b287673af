from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.errors import WireError
from wire.websocket import Message, MessageKind, MessageReader

OPCODES: dict[MessageKind, int] = {"text": 1, "binary": 2, "close": 8, "ping": 9, "pong": 10}


def frame(opcode: int, payload: bytes, *, fin: bool = True, compressed: bool = False, mask: bytes = b"") -> bytes:
    head = (0x80 if fin else 0) | (0x40 if compressed else 0) | opcode
    size = len(payload)
    if size < 126:
        length = bytes([size | (0x80 if mask else 0)])
    elif size < 1 << 16:
        length = bytes([126 | (0x80 if mask else 0)]) + struct.pack(">H", size)
    else:
        length = bytes([127 | (0x80 if mask else 0)]) + struct.pack(">Q", size)
    masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload)) if mask else payload
    return bytes([head]) + length + mask + masked


def deflated(compressor: zlib._Compress, data: bytes) -> bytes:
    return (compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH))[:-4]


def compressor() -> zlib._Compress:
    return zlib.compressobj(wbits=-15)


payloads = st.binary(max_size=300)
masks = st.one_of(st.just(b""), st.binary(min_size=4, max_size=4))


@st.composite
def conversations(draw: st.DrawFn) -> tuple[bytes, list[Message]]:
    """Bytes of one direction and the messages in them: cut into frames, compressed, masked, control frames between."""
    data, messages, packer = b"", [], compressor()
    for _ in range(draw(st.integers(0, 5))):
        kind: MessageKind = draw(st.sampled_from(["text", "binary"]))
        payload, compressed = draw(payloads), draw(st.booleans())
        wire = deflated(packer, payload) if compressed else payload
        cuts = sorted(draw(st.lists(st.integers(0, len(wire)), max_size=3)))
        pieces = [wire[a:b] for a, b in zip([0, *cuts], [*cuts, len(wire)], strict=True)]
        for number, piece in enumerate(pieces):
            opcode, last = (OPCODES[kind] if number == 0 else 0), number == len(pieces) - 1
            if not last or number:
                ping = draw(st.binary(max_size=20))
                data += frame(9, ping, mask=draw(masks))
                messages.append(Message("ping", ping))
            data += frame(opcode, piece, fin=last, compressed=compressed and number == 0, mask=draw(masks))
        messages.append(Message(kind, payload))
    return data, messages


@given(conversations())
def test_messages_come_out_whole_and_byte_by_byte(conversation: tuple[bytes, list[Message]]) -> None:
    data, messages = conversation
    assert MessageReader().feed(data) == messages
    reader = MessageReader()
    assert [message for at in range(len(data)) for message in reader.feed(data[at : at + 1])] == messages


@given(conversations(), st.data())
def test_messages_come_out_of_any_cuts(conversation: tuple[bytes, list[Message]], data: st.DataObject) -> None:
    wire, messages = conversation
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=6)))
    reader = MessageReader()
    pieces = [wire[a:b] for a, b in zip([0, *cuts], [*cuts, len(wire)], strict=True)]
    assert [message for piece in pieces for message in reader.feed(piece)] == messages


@pytest.mark.parametrize("size", [0, 125, 126, 65535, 65536, 1_000_000])
def test_lengths_of_every_form_are_read(size: int) -> None:
    payload = bytes(size)
    assert MessageReader().feed(frame(2, payload, mask=b"abcd")) == [Message("binary", payload)]


def test_a_compressor_may_forget_or_end_its_stream_between_messages() -> None:
    reader, text = MessageReader(), b"the same words again " * 20
    ended = compressor()
    last = ended.compress(text) + ended.flush(zlib.Z_FINISH)
    wire = [deflated(compressor(), text), last, deflated(compressor(), text)]
    assert [reader.feed(frame(1, data, compressed=True)) for data in wire] == [[Message("text", text)]] * 3


@pytest.mark.parametrize(
    "data",
    [
        frame(3, b""),  # no such kind
        bytes([0x80 | 0x20 | 1, 0]),  # a flag of an extension nobody knows
        frame(0, b"x"),  # goes on with nothing
        frame(1, b"x", fin=False) + frame(1, b"y"),  # the first is not over
        frame(1, b"\xff\xff\xff", compressed=True),
    ],
)
def test_what_is_no_websocket_is_an_error(data: bytes) -> None:
    with pytest.raises(WireError):
        MessageReader().feed(data)


def test_sizes_are_bounded_before_they_are_believed() -> None:
    with pytest.raises(WireError, match="larger than 100"):
        MessageReader(100).feed(frame(1, b"x" * 101)[:10])
    with pytest.raises(WireError, match="larger than 100"):
        MessageReader(100).feed(frame(1, b"x" * 60, fin=False) + frame(0, b"x" * 60))
    bomb = deflated(compressor(), bytes(1000))
    with pytest.raises(WireError, match="larger than 100"):
        MessageReader(100).feed(frame(1, bomb, compressed=True))


@given(st.binary(max_size=200))
def test_noise_is_read_or_refused(data: bytes) -> None:
    try:
        messages = MessageReader(1000).feed(data)
    except WireError:
        return
    assert sum(len(message.data) for message in messages) <= 1000 * (len(messages) or 1)
