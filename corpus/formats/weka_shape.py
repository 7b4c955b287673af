"""What a WEKA object may hold, as tables, and the check against them.

Unknown keys, missing keys, wrong types, negative or absurd numbers and nested sub-agents are refused with the JSON
place (`requests[3].requests[0].in`). AIPerf refuses unknown keys at the same levels; it lets negative numbers and NaN
pass, which then end as broken schedules, so those are refused here. `totals` is free-form.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from corpus.errors import InputError

Trace = dict[str, Any]  # a checked object
Problem = tuple[str, str] | None  # where inside the value ("" or "[7]") and what is wrong, None: nothing

MAX_INT: Final = 2**63 - 1
MAX_SECONDS: Final = 2**52 / 1e6  # up to here integer microseconds and doubles convert without loss; 142 years
GROUP: Final = "subagent"
_CORRECT: Final = "correct the file or leave it out"


class Field(NamedTuple):
    check: Callable[[object], Problem]
    required: bool = False
    null: bool = False


def _time(value: object) -> Problem:
    if type(value) not in (int, float):
        return "", f"must be a number of seconds, is {_show(value)}"
    seconds = float(value)  # type: ignore[arg-type]  # narrowed above, bool excluded
    if not math.isfinite(seconds) or not 0 <= seconds <= MAX_SECONDS:
        return "", f"must be seconds from 0 to {MAX_SECONDS:.0f}, is {_show(value)}"
    return None


def _count(value: object) -> Problem:
    if type(value) is not int or not 0 <= value <= MAX_INT:
        return "", f"must be a whole number from 0, is {_show(value)}"
    return None


def _size(value: object) -> Problem:
    if type(value) is not int or not 0 < value < 2**31:
        return "", f"must be a whole number from 1, is {_show(value)}"
    return None


def _text(value: object) -> Problem:
    return None if isinstance(value, str) else ("", f"must be a string, is {_show(value)}")


def _texts(value: object) -> Problem:
    if not isinstance(value, list):
        return "", f"must be a list of strings, is {_show(value)}"
    odd = next((i for i, entry in enumerate(value) if not isinstance(entry, str)), None)
    return None if odd is None else (f"[{odd}]", f"must be a string, is {_show(value[odd])}")


def _ids(value: object) -> Problem:
    if not isinstance(value, list):
        return "", f"must be a list of block ids, is {_show(value)}"
    if not value or (set(map(type, value)) == {int} and min(value) >= 0 and max(value) <= MAX_INT):
        return None
    odd = next(i for i, entry in enumerate(value) if _count(entry) is not None)
    return f"[{odd}]", f"must be a whole number from 0, is {_show(value[odd])}"


def _list(value: object) -> Problem:
    return None if isinstance(value, list) else ("", f"must be a list, is {_show(value)}")


def _object(value: object) -> Problem:
    return None if isinstance(value, dict) else ("", f"must be an object, is {_show(value)}")


def _local(value: object) -> Problem:
    if value == "local":
        return None
    return "", f'must be "local" (ids that mean something in one session only), is {_show(value)}'


TRACE: Final[Mapping[str, Field]] = {
    "id": Field(_text, required=True),
    "models": Field(_texts, required=True),
    "block_size": Field(_size, required=True),
    "hash_id_scope": Field(_local, required=True),
    "tool_tokens": Field(_count),
    "system_tokens": Field(_count),
    "requests": Field(_list, required=True),
    "totals": Field(_object, null=True),
}
REQUEST: Final[Mapping[str, Field]] = {
    "t": Field(_time, required=True),
    "type": Field(_text, required=True),
    "model": Field(_text, required=True),
    "in": Field(_count, required=True),
    "out": Field(_count, required=True),
    "hash_ids": Field(_ids),
    "input_types": Field(_texts),
    "output_types": Field(_texts),
    "stop": Field(_text),
    "api_time": Field(_time, null=True),
    "ttft": Field(_time, null=True),
    "think_time": Field(_time, null=True),
}
_NOT_STREAMING: Final = {key: field for key, field in REQUEST.items() if key != "ttft"}
SUBAGENT: Final[Mapping[str, Field]] = {
    "t": Field(_time, required=True),
    "type": Field(_text, required=True),
    "agent_id": Field(_text, required=True),
    "subagent_type": Field(_text, required=True),
    "duration_ms": Field(_count, null=True),
    "total_tokens": Field(_count, null=True),
    "tool_use_count": Field(_count, null=True),
    "status": Field(_text, required=True),
    "requests": Field(_list, required=True),
    "models": Field(_texts, required=True),
    "tool_tokens": Field(_count),
    "system_tokens": Field(_count),
}


def check_trace(found: object, where: str) -> Trace:
    """The object itself when it is a WEKA session; InputError at the first thing that is not."""
    trace = _check(found, TRACE, where, "")
    if not trace["requests"]:
        raise InputError(f"{where}: requests", "holds no request", "leave the file out")
    for i, entry in enumerate(trace["requests"]):
        place = f"requests[{i}]"
        if isinstance(entry, dict) and entry.get("type") == GROUP:
            group = _check(entry, SUBAGENT, where, place)
            for j, inner in enumerate(group["requests"]):
                _check_request(inner, where, f"{place}.requests[{j}]")
        else:
            _check_request(entry, where, place)
    return trace


def _check_request(found: object, where: str, place: str) -> None:
    if isinstance(found, dict) and found.get("type") not in ("s", "n"):
        kind = found.get("type")
        if kind == GROUP:
            raise InputError(f"{where}: {place}", "is a sub-agent inside a sub-agent", "move it up to the session")
        expected = '"s" (streaming), "n" (not) or, at the top level, "subagent"'
        raise InputError(f"{where}: {place}.type", f"must be {expected}, is {_show(kind)}", _CORRECT)
    streaming = isinstance(found, dict) and found["type"] == "s"
    _check(found, REQUEST if streaming else _NOT_STREAMING, where, place)


def _check(found: object, fields: Mapping[str, Field], where: str, place: str) -> Trace:
    if not isinstance(found, dict):
        raise InputError(f"{where}: {place}" if place else where, f"must be an object, is {_show(found)}", _CORRECT)
    prefix = f"{place}." if place else ""
    for key, value in found.items():
        field = fields.get(key)
        if field is None:
            raise InputError(
                f"{where}: {prefix}{key}", f"is not a WEKA key; known are {', '.join(fields)}", "remove it"
            )
        if value is None and field.null:
            continue
        problem = field.check(value)
        if problem is not None:
            raise InputError(f"{where}: {prefix}{key}{problem[0]}", problem[1], _CORRECT)
    missing = [key for key, field in fields.items() if field.required and key not in found]
    if missing:
        raise InputError(f"{where}: {prefix}{missing[0]}", "is missing", _CORRECT)
    return found


def _show(value: object) -> str:
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    text = json.dumps(value) if value is None or isinstance(value, bool | str) else repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
