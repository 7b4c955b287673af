"""JSON bodies in, compact JSON text out.

orjson does the work. Python's own parser is the second try, because clients written in JavaScript cut strings inside
an emoji and send the lone surrogate that is left, which orjson refuses. Such text survives both ways here.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

import orjson

from wire.errors import WireError


def parse_json(body: bytes) -> Any:
    """The JSON value in `body` (UTF-8, a byte order mark is allowed); WireError when it holds none."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(body.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise WireError("body is not JSON") from None


def parse_object(body: bytes) -> dict[str, Any]:
    """The JSON object in `body`; WireError when it holds anything else."""
    value = parse_json(body)
    if not isinstance(value, dict):
        raise WireError("body is JSON but not an object")
    return value


def write_json(value: object) -> str:
    """Compact JSON with keys in the order given, so that what a client repeats unchanged stays equal."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # lone surrogates, or nested deeper than orjson writes
        pass
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        raise WireError("JSON is nested too deeply") from None


def string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def boolean(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def count(value: object) -> int | None:
    """A number of things: an integer of zero or more; anything else, True included, is unknown."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def objects(value: object) -> list[dict[str, Any]]:
    """The objects among the members of a list; empty for anything that is no list."""
    return [member for member in value if isinstance(member, dict)] if isinstance(value, list) else []


def members(value: object, what: str) -> list[dict[str, Any]]:
    """A list that must hold objects only; None is an empty list, anything else a WireError naming `what`."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(member, dict) for member in value):
        raise WireError(f"{what} is not a list of objects")
    return value


def _refuse_constant(_name: str) -> NoReturn:
    raise ValueError("NaN and Infinity are not JSON")
