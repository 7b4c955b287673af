"""What a WEKA source states about a session, against what its requests say; the stated is kept and never used."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from corpus.graph import end_us
from corpus.session import Agent, Request, Session
from report.lineage import steps

_THINK_OFF_US: Final = 1_500_000  # a clock of whole seconds explains that much
_DURATION_OFF_US: Final = 5_000_000  # about 4 s of overhead of the harness are usual


def count_contradictions(session: Session) -> dict[str, int]:
    """By anomaly; nothing for sessions that are no WEKA import."""
    if session.source_format != "weka" or session.source is None:
        return {}
    told = json.loads(session.source)["declared"]
    groups = [(agent, json.loads(agent.source)) for agent in session.agents if agent.source is not None]
    return {
        "unparsed_stream": sum(
            bool(r.stream) and r.t_end_us is None and not r.stop and not r.output_kinds for r in session.requests
        ),
        "undeclared_model": _undeclared(session, told.get("models", ())),
        "totals_differ": int(_totals_differ(session, told.get("totals") or {})),
        **_think_times(session),
        **_group_times(session, groups),
        **_group_telemetry(session, groups),
    }


def _undeclared(session: Session, models: Sequence[str]) -> int:
    return len({request.agent for request in session.requests if session.models[request.model] not in models})


def _totals_differ(session: Session, totals: dict[str, Any]) -> bool:
    """Looks at the sums under the names that kv-cache-tester uses."""
    streams = {
        "parent": [r for r in session.requests if r.agent == 0],
        "subagent": [r for r in session.requests if r.agent],
        "combined": list(session.requests),
    }
    for name, requests in streams.items():
        stated = totals.get(f"{name}_tokens")
        if isinstance(stated, dict):
            found = {
                "input": sum(r.input_tokens for r in requests),
                "output": sum(r.output_tokens or 0 for r in requests),
            }
            if any(key in stated and stated[key] != value for key, value in found.items()):
                return True
    return "subagent_count" in totals and totals["subagent_count"] != len(session.agents) - 1


def _think_times(session: Session) -> dict[str, int]:
    missing = differs = 0
    for before, after in steps(session):
        stated = after.recorded_think_us
        missing += stated is None
        if stated is not None and before.t_end_us is not None:
            differs += abs(after.t_start_us - before.t_end_us - stated) > _THINK_OFF_US
    return {"think_time_missing": missing, "think_time_differs": differs}


def _group_times(session: Session, groups: Sequence[tuple[Agent, dict[str, Any]]]) -> dict[str, int]:
    main = [request for request in session.requests if request.agent == 0]
    ends = moved = launched = alone = 0
    for agent, told in groups:
        declared, own = told["declared"], _requests(session, agent)
        launched += declared["status"] == "async_launched"
        relative = session.source_dialect == "kv-cache-tester" and declared["status"] != "async_launched"
        ends += relative
        if own:
            length_us = max(1000 * (declared.get("duration_ms") or 0), _span_us(own))
            moved += relative and told["offset_us"] > max(0, round(declared["t"] * 1_000_000) - length_us)
            last = max(map(end_us, own))
            alone += not any(request.t_start_us >= last for request in main)
    return {"group_time_is_end": ends, "group_moved": moved, "group_launched": launched, "group_without_join": alone}


def _group_telemetry(session: Session, groups: Sequence[tuple[Agent, dict[str, Any]]]) -> dict[str, int]:
    off = zero = 0
    for agent, told in groups:
        declared, own = told["declared"], _requests(session, agent)
        if own and declared.get("duration_ms") is not None:
            off += abs(1000 * declared["duration_ms"] - _span_us(own)) > _DURATION_OFF_US
        zero += bool(own) and declared.get("total_tokens") == 0
    return {"duration_differs": off, "zero_total_tokens": zero}


def _requests(session: Session, agent: Agent) -> list[Request]:
    return [request for request in session.requests if request.agent == agent.agent]


def _span_us(requests: Sequence[Request]) -> int:
    return max(map(end_us, requests)) - min(request.t_start_us for request in requests)
