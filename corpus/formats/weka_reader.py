"""A WEKA object as a session.

Dialect. kv-cache-tester counts a group's inner times from the group's own start, the others from the session's start. A
group whose first inner time is 0 although its own is not is relative; one whose first inner time is not before its own
is absolute; a session that has both is refused. Where no group is either (its first request was taken out), an earlier
inner time is relative. Among absolute ones SemiAnalysis counts ids from 0 or has no `stop`; the rest is what AIPerf's
converters, and this project, write. Without groups, with ids from 1, kv-cache-tester is the one whose times are whole
seconds. A reader who knows better may name the dialect.

Time. A kv-cache-tester group's `t` is when its result came back, unless it was only launched (`async_launched`). Its
start is therefore `t` minus the longer of its declared duration and the span of its requests. Request times there are
whole seconds, so that start can fall before the end of the main request in front of the group, which must have spawned
it; then it moves forward to that end, but only if the group then still ends by `t`, give or take the clock's one
second. The start is kept in `Agent.source`, so nothing is lost by moving it.

What the source says beyond a session's fields is kept in `Session.source` and `Agent.source`; a request that its fields
would not rebuild exactly (more digits than a microsecond, a key that others lack) leaves a patch there. Numbers the
source derives (`models`, `totals`, `think_time`) are kept and never trusted. A request without `api_time` has no known
end. `ttft` is the server's own measure, so it stays `recorded_ttft_us` and is no `t_first_us`. Models are taken for
Anthropic's when their name says claude, else for OpenAI-style chat. Agents are numbered as groups stand in the file.
Lists are kept as they are, also where they hold a partial last block (more ids than whole blocks fit `in`).
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from corpus.blocks import encode_blocks
from corpus.errors import InputError
from corpus.formats.patch import patch_between
from corpus.formats.weka_shape import GROUP, REQUEST, Trace, check_trace
from corpus.formats.weka_writer import request_entry
from corpus.session import Agent, Blocks, Request, Session, WekaDialect

_CLOCK_US: Final = 1_000_000  # resolution of kv-cache-tester's request times
_OWN_KEYS: Final = ("id", "block_size", "requests")  # of a trace, rebuilt from the session's fields


class _Heard(NamedTuple):
    """A request entry, placed in session time."""

    start_us: int
    agent: int
    position: int
    offset_us: int  # what its own `t` counts from
    entry: Trace


def session_from_weka(found: object, where: str, number: int, dialect: WekaDialect | None = None) -> Session:
    """Session `number` from parsed JSON; InputError naming `where` and the JSON place when it is not WEKA."""
    trace = check_trace(found, where)
    dialect = dialect or _dialect(trace, where)
    agents, heard = _place(trace, relative=dialect == "kv-cache-tester")
    models = tuple(dict.fromkeys(one.entry["model"] for one in heard))
    deltas = encode_blocks(one.entry.get("hash_ids", ()) for one in heard)
    requests = tuple(
        _request(i, one, models.index(one.entry["model"]), delta)
        for i, (one, delta) in enumerate(zip(heard, deltas, strict=True))
    )
    return Session(
        session=number,
        source_format="weka",
        source_dialect=dialect,
        harness=None,
        harness_version=(),
        block_size=trace["block_size"],
        models=models,
        agents=agents,
        requests=requests,
        source=_source(trace, heard, requests, models, where),
    )


def to_us(seconds: float) -> int:
    return round(seconds * 1_000_000)


def _dialect(trace: Trace, where: str) -> WekaDialect:
    groups = [(i, e) for i, e in enumerate(trace["requests"]) if e["type"] == GROUP and e["requests"]]
    firsts = [(i, group["t"], min(inner["t"] for inner in group["requests"])) for i, group in groups]
    relative = [i for i, t, first in firsts if first == 0 < t]
    absolute = [i for i, t, first in firsts if first >= t and first > 0]
    if relative and absolute:
        problem = f"inner times are relative to the group here, but session times in requests[{absolute[0]}]"
        hint = "bring all groups to one convention, or name the dialect (weka-semianalysis:FILE)"
        raise InputError(f"{where}: requests[{relative[0]}]", problem, hint)
    if relative or (firsts and not absolute and any(first < t for _, t, first in firsts)):
        return "kv-cache-tester"
    entries = [e for one in trace["requests"] for e in (one["requests"] if one["type"] == GROUP else (one,))]
    from_zero = any(0 in e.get("hash_ids", ()) for e in entries)
    if from_zero or not any("stop" in e for e in entries):
        return "semianalysis"
    if absolute or not all(float(e["t"]).is_integer() for e in entries):
        return "aiperf"
    return "kv-cache-tester"


def _place(trace: Trace, *, relative: bool) -> tuple[tuple[Agent, ...], list[_Heard]]:
    """Agents in file order, requests in session order; groups take a position of their own."""
    agents = [Agent(0, None, "main")]
    heard: list[_Heard] = []
    main_end_us = position = 0
    for entry in trace["requests"]:
        if entry["type"] != GROUP:
            start = to_us(entry["t"])
            heard.append(_Heard(start, 0, position, 0, entry))
            main_end_us = start + to_us(entry.get("api_time") or 0)
        else:
            offset = _group_start_us(entry, main_end_us) if relative else 0
            agents.append(Agent(len(agents), 0, "subagent", _agent_source(entry, position, offset)))
            for inner in entry["requests"]:
                position += 1
                heard.append(_Heard(offset + to_us(inner["t"]), agents[-1].agent, position, offset, inner))
        position += 1
    heard.sort(key=lambda one: one[:3])
    return tuple(agents), heard


def _group_start_us(group: Trace, main_end_us: int) -> int:
    """Start of a group whose inner times are relative; see the module's second paragraph."""
    t = to_us(group["t"])
    if group["status"] == "async_launched":
        return t
    span = max((to_us(e["t"]) + to_us(e.get("api_time") or 0) for e in group["requests"]), default=0)
    declared = t - max(1000 * (group.get("duration_ms") or 0), span)
    latest = t - span
    if declared < main_end_us <= latest + _CLOCK_US:
        return main_end_us
    return max(0, declared)


def _agent_source(group: Trace, position: int, offset_us: int) -> str:
    declared = {key: value for key, value in group.items() if key != "requests"}
    return json.dumps({"position": position, "offset_us": offset_us, "declared": declared}, separators=(",", ":"))


def _request(number: int, one: _Heard, model: int, blocks: Blocks) -> Request:
    entry = one.entry
    api_us = _optional_us(entry, "api_time")
    return Request(
        request=number,
        agent=one.agent,
        position=one.position,
        purpose="turn",
        api="anthropic-messages" if "claude" in entry["model"].lower() else "openai-chat",
        stream=entry["type"] == "s",
        model=model,
        t_start_us=one.start_us,
        t_first_us=None,
        t_end_us=None if api_us is None else one.start_us + api_us,
        end="complete",
        status=None,
        retry_of=None,
        stop=entry.get("stop", ""),
        input_kinds=tuple(entry.get("input_types", ())),
        output_kinds=tuple(entry.get("output_types", ())),
        input_tokens=entry["in"],
        output_tokens=entry["out"],
        usage=None,
        blocks=blocks,
        segments=None,
        recorded_think_us=_optional_us(entry, "think_time"),
        recorded_api_us=api_us,
        recorded_ttft_us=_optional_us(entry, "ttft"),
    )


def _optional_us(entry: Trace, key: str) -> int | None:
    return None if entry.get(key) is None else to_us(entry[key])


def _source(
    trace: Trace, heard: list[_Heard], requests: tuple[Request, ...], models: tuple[str, ...], where: str
) -> str:
    always = [key for key in REQUEST if all(key in one.entry for one in heard)]
    patches: dict[str, Trace] = {}
    for one, request in zip(heard, requests, strict=True):
        rebuilt = request_entry(request, one.entry.get("hash_ids", []), models, always, one.offset_us)
        patch = patch_between(one.entry, rebuilt)
        if patch:
            patches[str(one.position)] = patch
    declared = {key: value for key, value in trace.items() if key not in _OWN_KEYS}
    source = {"id": trace["id"], "declared": declared, "always": always, "patches": patches}
    try:
        return json.dumps(source, separators=(",", ":"), allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{where}: totals", f"cannot be kept ({error})", "remove it, it is not needed") from error
