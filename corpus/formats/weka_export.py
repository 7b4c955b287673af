"""Strict WEKA from a session that was not imported from WEKA: keys and rules as AIPerf's loader wants them.

Groups stand one level deep, at their first request's start; inner times are session times and inner requests are not
streaming; lists hold whole blocks only; a group comes after the main request that was running or had ended before it.

Lost on the way: segments, provider usage, tool calls and edges (a reader infers spawn and join from times again);
nesting deeper than one level (kept as a path in `agent_id`); agent kinds other than as a word in `subagent_type`;
first-token times of sub-agents; what the last, partial block held; attempts that failed and requests that generate
nothing (`totals.left_out` counts them); status codes and retries.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from corpus.blocks import expand_blocks
from corpus.formats.trace_rows import is_answered, output_tokens
from corpus.formats.weka_shape import GROUP, Trace
from corpus.session import Request, Session


def to_seconds(us: int) -> float:
    """The double nearest to the decimal, so that `round(seconds * 1e6)` gives `us` back."""
    return us / 1_000_000


def export_session(session: Session) -> Trace:
    """The session as one object; `requests` is empty when nothing of it generated."""
    streams: dict[int, list[Request]] = {agent.agent: [] for agent in session.agents}
    for request in session.requests:
        if is_answered(request):
            streams[request.agent].append(request)
    entries = _entries(session, streams)
    main = [(start, 0, entry) for start, entry in entries[0]]
    groups = [(entries[a][0][0], a, _group(session, a, streams, entries[a])) for a in streams if a and streams[a]]
    ordered = [entry for _, _, entry in sorted(main + groups, key=lambda placed: placed[:2])]
    return {
        "id": session.label,
        "models": list(session.models),
        "block_size": session.block_size,
        "hash_id_scope": "local",
        **_prefix_tokens(session, streams),
        "requests": ordered,
        "totals": _totals(session, streams),
    }


def _entries(session: Session, streams: dict[int, list[Request]]) -> dict[int, list[tuple[int, Trace]]]:
    """Per agent its entries with their starts."""
    lists = expand_blocks([request.blocks for request in session.requests])
    found: dict[int, list[tuple[int, Trace]]] = {}
    for agent, requests in streams.items():
        thinks = [None, *(_think_us(before, after) for before, after in pairwise(requests))]
        found[agent] = [
            (r.t_start_us, _entry(session, r, lists[r.request][: r.input_tokens // session.block_size].tolist(), think))
            for r, think in zip(requests, thinks, strict=False)
        ]
    return found


def _entry(session: Session, request: Request, ids: list[int], think_us: int | None) -> Trace:
    streaming = bool(request.stream) and request.agent == 0
    times = {
        "api_time": None if request.t_end_us is None else request.t_end_us - request.t_start_us,
        "ttft": request.t_first_us - request.t_start_us if streaming and request.t_first_us is not None else None,
        "think_time": think_us,
    }
    return {
        "t": to_seconds(request.t_start_us),
        "type": "s" if streaming else "n",
        "model": session.models[request.model],
        "in": request.input_tokens,
        "out": output_tokens(request),
        "hash_ids": ids,
        "input_types": list(request.input_kinds),
        "output_types": list(request.output_kinds),
        "stop": request.stop,
        **{key: to_seconds(us) for key, us in times.items() if us is not None},
    }


def _think_us(before: Request, after: Request) -> int | None:
    return None if before.t_end_us is None else max(0, after.t_start_us - before.t_end_us)


def _group(
    session: Session, agent: int, streams: dict[int, list[Request]], entries: Sequence[tuple[int, Trace]]
) -> Trace:
    requests = streams[agent]
    start = requests[0].t_start_us
    end = max(r.t_start_us if r.t_end_us is None else r.t_end_us for r in requests)
    background = any(start < r.t_start_us < end for r in streams[0])
    numbers = {request.request for request in requests}
    calls = sum(1 for call in session.tool_calls if call.emit in numbers)
    tokens = _sums(requests)
    return {
        "t": to_seconds(start),
        "type": GROUP,
        "agent_id": _path(session, agent),
        "subagent_type": session.agents[agent].kind.capitalize(),
        # Rounded down: a join is the first main request that starts at or after t + duration.
        "duration_ms": None if background else (end - start) // 1000,
        "total_tokens": None if background else tokens["input"] + tokens["output"],
        "tool_use_count": None if background else calls,
        "status": "async_launched" if background else "completed",
        "requests": [entry for _, entry in entries],
        "models": list(dict.fromkeys(session.models[r.model] for r in requests)),
        "tool_tokens": 0,
        "system_tokens": 0,
    }


def _path(session: Session, agent: int) -> str:
    """Names of the agents from depth one down to this one."""
    names: list[str] = []
    current: int | None = agent
    while current:
        names.append(f"agent_{current:03d}")
        current = session.agents[current].parent
    return "/".join(reversed(names))


def _prefix_tokens(session: Session, streams: dict[int, list[Request]]) -> dict[str, int]:
    """Sizes of tools and system in front of the first main request, as far as whole blocks hold them."""
    first = streams[0][0] if streams.get(0) else None
    sizes = {"tools": 0, "system": 0}
    if first is not None and first.segments is not None and first.segments.keep == 0:
        for role, tokens in zip(first.segments.roles, first.segments.tokens, strict=True):
            if role not in sizes:
                break
            sizes[role] += tokens
    room = first.input_tokens // session.block_size * session.block_size if first else 0
    tools = min(sizes["tools"], room)
    return {"tool_tokens": tools, "system_tokens": min(sizes["system"], room - tools)}


def _totals(session: Session, streams: dict[int, list[Request]]) -> dict[str, Any]:
    main = _sums(streams.get(0, ()))
    others = _sums([request for agent, stream in streams.items() if agent for request in stream])
    return {
        "parent_tokens": main,
        "subagent_tokens": others,
        "combined_tokens": {key: main[key] + others[key] for key in main},
        "subagent_count": sum(1 for agent, stream in streams.items() if agent and stream),
        "left_out": len(session.requests) - sum(map(len, streams.values())),
    }


def _sums(requests: Sequence[Request]) -> dict[str, int]:
    return {
        "input": sum(request.input_tokens for request in requests),
        "output": sum(output_tokens(request) for request in requests),
    }
