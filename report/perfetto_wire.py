"""The few fields of Perfetto's trace format that a run needs, written by hand: no dependency, and a tenth of the time.

Field numbers are those of perfetto's `trace_packet.proto`, `track_descriptor.proto`, `track_event.proto` and
`debug_annotation.proto`; the tests read the result back with Perfetto's own classes. Times are nanoseconds, from 0.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Final

Note = int | float | str

_SEQUENCE: Final = 1  # all packets are one writer's
_EXPLICIT_ORDER: Final = 3
_NEVER_MERGED: Final = 2  # two tracks of one name stay two
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4


def track(uuid: int, name: str, parent: int | None, rank: int, counter_unit: str | None = None) -> bytes:
    """A track, or a group of the tracks that name it as their parent; `rank` orders it among its siblings."""
    counter = b"" if counter_unit is None else _bytes(8, _text(6, counter_unit))
    above = b"" if parent is None else _int(5, parent)
    order = _int(11, _EXPLICIT_ORDER) + _int(12, rank) + _int(15, _NEVER_MERGED)
    return _packet(_bytes(60, _int(1, uuid) + _text(2, name) + above + counter + order))


def begin(
    uuid: int,
    at_ns: int,
    name: str,
    category: str = "",
    notes: Mapping[str, Note] | None = None,
    flows_out: Sequence[int] = (),
    flows_in: Sequence[int] = (),
    *,
    is_instant: bool = False,
) -> bytes:
    """The begin of a slice, or an instant; a flow goes from the event that has it out to the one that has it in."""
    event = [_int(9, _INSTANT if is_instant else _BEGIN), _int(11, uuid), _text(23, name)]
    event += [_text(22, category)] if category else []
    event += [_bytes(4, _text(10, key) + _value(value)) for key, value in (notes or {}).items()]
    event += [_fixed(47, flow) for flow in flows_out]
    event += [_fixed(48, flow) for flow in flows_in]
    return _event(at_ns, b"".join(event))


def end(uuid: int, at_ns: int) -> bytes:
    return _event(at_ns, _int(9, _END) + _int(11, uuid))


def count(uuid: int, at_ns: int, value: int) -> bytes:
    return _event(at_ns, _int(9, _COUNTER) + _int(11, uuid) + _int(30, value))


def _event(at_ns: int, event: bytes) -> bytes:
    return _packet(_int(8, at_ns) + _bytes(11, event))


def _packet(content: bytes) -> bytes:
    return _bytes(1, content + _int(10, _SEQUENCE))


def _value(value: Note) -> bytes:
    if isinstance(value, str):
        return _text(6, value)
    return _int(4, value) if isinstance(value, int) else _varint(5 << 3 | 1) + struct.pack("<d", value)


def _int(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _fixed(field: int, value: int) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<Q", value)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode(errors="replace"))


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    """Negative numbers as their 64-bit complement, as protobuf writes int64."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
