"""Numbers of a page as packed columns: whole numbers, each as its distance from the one before, in few bytes.

Close neighbours take one byte, gzip takes most of that, and equal columns are kept once. Numbers with a fraction travel
as whole ones with a divisor, with six digits of the largest; where there is much, times are rounded to steps too fine
to be seen. A short column stays a list, which anyone can read.

    byte 0x00           null
    varint(1 + zigzag)  distance from the last number that is not null
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_LISTED_UP_TO: Final = 40  # values
_DIGITS: Final = 6


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    values: Sequence[float | None]
    step: int = 1  # whole numbers are rounded to multiples of it


class Packer:
    """`place` is a `default` of json.dumps; all that it was given leaves with `packed`."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._offsets: dict[bytes, int] = {}
        self._size = 0

    def place(self, value: object) -> Any:
        """What stands for a column in the JSON: a list, or {"#": [offset in bytes, values, step, divisor]}."""
        if not isinstance(value, Column):
            raise TypeError(f"a {type(value).__name__} has no place on a page")
        if len(value.values) <= _LISTED_UP_TO:
            return list(value.values)
        numbers, divisor = _whole(value.values, value.step)
        encoded = encode_column(numbers)
        if encoded not in self._offsets:
            self._offsets[encoded] = self._size
            self._parts.append(encoded)
            self._size += len(encoded)
        return {"#": [self._offsets[encoded], len(value.values), value.step, divisor]}

    def packed(self) -> str:
        """Without a time stamp, so the same columns give the same text."""
        return base64.b64encode(gzip.compress(b"".join(self._parts), compresslevel=9, mtime=0)).decode()


def encode_column(values: NDArray[np.float64]) -> bytes:
    """`values` are whole numbers below 2^53, NaN is null."""
    known = ~np.isnan(values)
    numbers = values[known].astype(np.int64)
    distance = np.diff(numbers, prepend=0)
    codes = np.zeros(len(values), dtype=np.uint64)
    codes[known] = ((distance << 1) ^ (distance >> 63)).astype(np.uint64) + np.uint64(1)
    return _varints(codes)


def _varints(codes: NDArray[np.uint64]) -> bytes:
    """Seven bits a byte, the lowest first; the eighth says that more follow."""
    width = np.ones(len(codes), dtype=np.int64)
    for more in range(1, 9):
        width += codes >= np.uint64(1 << 7 * more)
    ends = np.cumsum(width)
    out = np.zeros(int(ends[-1]) if len(ends) else 0, dtype=np.uint8)
    for place in range(int(width.max(initial=0))):
        has = width > place
        byte = (codes[has] >> np.uint64(7 * place)) & np.uint64(0x7F)
        follows = np.where(width[has] > place + 1, np.uint64(0x80), np.uint64(0))
        out[(ends - width)[has] + place] = (byte | follows).astype(np.uint8)
    return out.tobytes()


def _whole(values: Sequence[float | None], step: int) -> tuple[NDArray[np.float64], int]:
    """The values in steps, times a power of ten, rounded, and that power."""
    numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    if step > 1:
        return np.round(numbers / step), 1
    known = numbers[~np.isnan(numbers)]
    divisor = 1
    if (known != np.round(known)).any():
        largest = float(np.abs(known).max())
        divisor = 10 ** max(0, _DIGITS - int(np.ceil(np.log10(largest))))
    return np.round(numbers * divisor), divisor
