"""What an object of a foreign format may hold: checks of single values, and of an object against a table of them.

A check gives None for a good value, else where inside the value ("" or "[7]") and what is wrong. What fails is refused
with the JSON place (`requests[3].requests[0].in`): negative or absurd numbers and NaN included, which end as broken
schedules where they are let through.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from corpus.errors import InputError

Object = dict[str, Any]  # a checked object
Problem = tuple[str, str] | None

MAX_INT: Final = 2**63 - 1
MAX_SECONDS: Final = 2**52 / 1e6  # up to here integer microseconds and doubles convert without loss; 142 years
CORRECT: Final = "correct the file or leave it out"


class Field(NamedTuple):
    check: Callable[[object], Problem]
    required: bool = False
    null: bool = False


def is_seconds(value: object) -> Problem:
    if type(value) not in (int, float):
        return "", f"must be a number of seconds, is {show(value)}"
    seconds = float(value)  # type: ignore[arg-type]  # narrowed above, bool excluded
    if not math.isfinite(seconds) or not 0 <= seconds <= MAX_SECONDS:
        return "", f"must be seconds from 0 to {MAX_SECONDS:.0f}, is {show(value)}"
    return None


def is_count(value: object) -> Problem:
    if type(value) is not int or not 0 <= value <= MAX_INT:
        return "", f"must be a whole number from 0, is {show(value)}"
    return None


def is_size(value: object) -> Problem:
    if type(value) is not int or not 0 < value < 2**31:
        return "", f"must be a whole number from 1, is {show(value)}"
    return None


def is_text(value: object) -> Problem:
    return None if isinstance(value, str) else ("", f"must be a string, is {show(value)}")


def is_texts(value: object) -> Problem:
    if not isinstance(value, list):
        return "", f"must be a list of strings, is {show(value)}"
    odd = next((i for i, entry in enumerate(value) if not isinstance(entry, str)), None)
    return None if odd is None else (f"[{odd}]", f"must be a string, is {show(value[odd])}")


def is_ids(value: object) -> Problem:
    if isinstance(value, np.ndarray):  # read as ids (`weka_text`)
        return None
    if not isinstance(value, list):
        return "", f"must be a list of block ids, is {show(value)}"
    if not value or _are_ids(value):
        return None
    odd = next((i for i, entry in enumerate(value) if is_count(entry) is not None), None)
    return None if odd is None else (f"[{odd}]", f"must be a whole number from 0, is {show(value[odd])}")


def _are_ids(value: list[object]) -> bool:
    """True only for ids; one conversion instead of a look at each, since lists are long. A bool converts to 0 or 1."""
    try:
        ids = np.asarray(value)
    except (ValueError, OverflowError):
        return False
    if ids.dtype != np.int64 or ids.ndim != 1 or ids.min() < 0:
        return False
    return not any(isinstance(value[i], bool) for i in np.flatnonzero(ids <= 1).tolist())


def is_list(value: object) -> Problem:
    return None if isinstance(value, list) else ("", f"must be a list, is {show(value)}")


def is_object(value: object) -> Problem:
    return None if isinstance(value, dict) else ("", f"must be an object, is {show(value)}")


def is_milliseconds(value: object) -> Problem:
    if type(value) not in (int, float):
        return "", f"must be a number of milliseconds, is {show(value)}"
    if not 0 <= float(value) <= 1000 * MAX_SECONDS:  # type: ignore[arg-type]  # narrowed above, bool excluded
        return "", f"must be milliseconds from 0 to {1000 * MAX_SECONDS:.0f}, is {show(value)}"
    return None


def is_number(value: object) -> Problem:
    return None if type(value) is int and abs(value) <= MAX_INT else ("", f"must be a whole number, is {show(value)}")


def is_flag(value: object) -> Problem:
    return None if isinstance(value, bool) else ("", f"must be true or false, is {show(value)}")


def check_object(
    found: object, fields: Mapping[str, Field], where: str, place: str = "", *, kind: str | None = None
) -> Object:
    """The object itself; InputError at its first flaw. With `kind`, the format's name, unknown keys are refused."""
    if not isinstance(found, dict):
        raise InputError(f"{where}: {place}" if place else where, f"must be an object, is {show(found)}", CORRECT)
    prefix = f"{place}." if place else ""
    for key, value in found.items():
        field = fields.get(key)
        if field is None and kind is not None:
            problem = f"is not a {kind} key; known are {', '.join(fields)}"
            raise InputError(f"{where}: {prefix}{key}", problem, "remove it")
        if field is None or (value is None and field.null):
            continue
        flaw = field.check(value)
        if flaw is not None:
            raise InputError(f"{where}: {prefix}{key}{flaw[0]}", flaw[1], CORRECT)
    missing = [key for key, field in fields.items() if field.required and key not in found]
    if missing:
        raise InputError(f"{where}: {prefix}{missing[0]}", "is missing", CORRECT)
    return found


def show(value: object) -> str:
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    text = json.dumps(value) if value is None or isinstance(value, bool | str) else repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
