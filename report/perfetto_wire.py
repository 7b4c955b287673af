"""The few fields of Perfetto's trace format that a run needs, written by hand: a dependency less, and quicker.

Field numbers are those of perfetto's `trace_packet.proto`, `track_descriptor.proto`, `track_event.proto` and
`debug_annotation.proto`; the tests read the result back with Perfetto's own classes. Times are nanoseconds, from 0.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
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
    event = [_int(9, _INSTANT if is_instant else _BEGIN), _int(11, uuid), _repeated(23, name)]
    event += [_repeated(22, category)] if category else []
    event += [_note(key, value) for key, value in (notes or {}).items()]
    event += [_fixed(47, flow) for flow in flows_out]
    event += [_fixed(48, flow) for flow in flows_in]
    return _event(at_ns, b"".join(event))


def end(uuid: int, at_ns: int) -> bytes:
    return _event(at_ns, _int(9, _END) + _int(11, uuid))


def count(uuid: int, at_ns: int, value: int) -> bytes:
    return _event(at_ns, _int(9, _COUNTER) + _int(11, uuid) + _int(30, value))


def level(uuid: int, at_ns: int, value: float) -> bytes:
    return _event(at_ns, _int(9, _COUNTER) + _int(11, uuid) + _tag(44, 1) + struct.pack("<d", value))


def _event(at_ns: int, event: bytes) -> bytes:
    return _packet(_int(8, at_ns) + _bytes(11, event))


def _packet(content: bytes) -> bytes:
    return _bytes(1, content + _WRITER)


def _note(key: str, value: Note) -> bytes:
    if isinstance(value, str):
        return _bytes(4, _repeated(10, key) + _repeated(6, value))
    number = _int(4, value) if isinstance(value, int) else _tag(5, 1) + struct.pack("<d", value)
    return _bytes(4, _repeated(10, key) + number)


def _int(field: int, value: int) -> bytes:
    return _tag(field, 0) + _varint(value)


def _fixed(field: int, value: int) -> bytes:
    return _tag(field, 1) + struct.pack("<Q", value)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode(errors="replace"))


@lru_cache(maxsize=1024)
def _repeated(field: int, value: str) -> bytes:
    """A text that comes again and again: encoded once."""
    return _text(field, value)


def _bytes(field: int, value: bytes) -> bytes:
    return _tag(field, 2) + _varint(len(value)) + value


@cache
def _tag(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _varint(value: int) -> bytes:
    """Negative numbers as their 64-bit complement, as protobuf writes int64."""
    if 0 <= value < len(_SMALL):
        return _SMALL[value]
    value &= 0xFFFF_FFFF_FFFF_FFFF
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


_SMALL: Final = [bytes([n]) if n < 0x80 else bytes([n & 0x7F | 0x80, n >> 7]) for n in range(1 << 14)]
_WRITER: Final = _int(10, _SEQUENCE)
