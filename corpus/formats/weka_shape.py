"""What a WEKA object may hold, as tables, and the check against them.

Unknown keys, missing keys, wrong types, negative or absurd numbers and nested sub-agents are refused with the JSON
place (`requests[3].requests[0].in`). AIPerf refuses unknown keys at the same levels; it lets negative numbers and NaN
pass, which then end as broken schedules, so those are refused here. `totals` is free-form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from corpus.errors import InputError
from corpus.formats.fields import (
    CORRECT,
    Field,
    Object,
    Problem,
    check_object,
    is_count,
    is_ids,
    is_list,
    is_object,
    is_seconds,
    is_size,
    is_text,
    is_texts,
    show,
)

Trace = Object  # a checked object

GROUP: Final = "subagent"


def _local(value: object) -> Problem:
    if value == "local":
        return None
    return "", f'must be "local" (ids that mean something in one session only), is {show(value)}'


TRACE: Final[Mapping[str, Field]] = {
    "id": Field(is_text, required=True),
    "models": Field(is_texts, required=True),
    "block_size": Field(is_size, required=True),
    "hash_id_scope": Field(_local, required=True),
    "tool_tokens": Field(is_count),
    "system_tokens": Field(is_count),
    "requests": Field(is_list, required=True),
    "totals": Field(is_object, null=True),
}
REQUEST: Final[Mapping[str, Field]] = {
    "t": Field(is_seconds, required=True),
    "type": Field(is_text, required=True),
    "model": Field(is_text, required=True),
    "in": Field(is_count, required=True),
    "out": Field(is_count, required=True),
    "hash_ids": Field(is_ids),
    "input_types": Field(is_texts),
    "output_types": Field(is_texts),
    "stop": Field(is_text),
    "api_time": Field(is_seconds, null=True),
    "ttft": Field(is_seconds, null=True),
    "think_time": Field(is_seconds, null=True),
}
_NOT_STREAMING: Final = {key: field for key, field in REQUEST.items() if key != "ttft"}
SUBAGENT: Final[Mapping[str, Field]] = {
    "t": Field(is_seconds, required=True),
    "type": Field(is_text, required=True),
    "agent_id": Field(is_text, required=True),
    "subagent_type": Field(is_text, required=True),
    "duration_ms": Field(is_count, null=True),
    "total_tokens": Field(is_count, null=True),
    "tool_use_count": Field(is_count, null=True),
    "status": Field(is_text, required=True),
    "requests": Field(is_list, required=True),
    "models": Field(is_texts, required=True),
    "tool_tokens": Field(is_count),
    "system_tokens": Field(is_count),
}


def check_trace(found: object, where: str) -> Trace:
    """The object itself when it is a WEKA session; InputError at the first thing that is not."""
    trace = check_object(found, TRACE, where, kind="WEKA")
    if not trace["requests"]:
        raise InputError(f"{where}: requests", "holds no request", "leave the file out")
    for i, entry in enumerate(trace["requests"]):
        place = f"requests[{i}]"
        if isinstance(entry, dict) and entry.get("type") == GROUP:
            group = check_object(entry, SUBAGENT, where, place, kind="WEKA")
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
        raise InputError(f"{where}: {place}.type", f"must be {expected}, is {show(kind)}", CORRECT)
    streaming = isinstance(found, dict) and found["type"] == "s"
    check_object(found, REQUEST if streaming else _NOT_STREAMING, where, place, kind="WEKA")
