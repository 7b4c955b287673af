"""Numbers as people read them: three significant digits where more would be noise, and a dash for what is unknown."""

from __future__ import annotations

from typing import Final

UNKNOWN: Final = "-"


def count(value: float | None) -> str:
    """12, 950, 12.3k, 1.24M."""
    if value is None:
        return UNKNOWN
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= size:
            return f"{_three(value / (1e3 if unit == 'k' else size))}{unit}"
    return f"{value:.0f}" if value == int(value) or value >= 100 else f"{value:.1f}"


def seconds(value: float | None) -> str:
    """0.12 s, 45.6 s, 2 min 5 s, 3 h 12 min, 5 d 2 h."""
    if value is None:
        return UNKNOWN
    if value < 99.95:
        return f"{_three(value)} s"
    whole = round(value)
    for size, unit, small, small_unit in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // small
            return f"{whole // size} {unit}" + (f" {rest} {small_unit}" if rest else "")
    raise AssertionError("below a minute is handled above")


def share(value: float | None) -> str:
    return UNKNOWN if value is None else f"{100 * value:.1f} %"


def _three(value: float) -> str:
    if value == 0:
        return "0"
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f}"
