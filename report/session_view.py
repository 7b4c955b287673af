"""Sessions on the page: the numbers of the corpus, a row a session, a timeline a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from corpus.graph import critical_path, task_time_us
from corpus.purpose import STEPS
from corpus.session import Edge, Session
from report.agent_tree import agent_tree
from report.anomalies import MEANINGS
from report.cache_view import draw_caches
from report.distributions import collect_samples, draw_distributions
from report.flamegraph import draw_flamegraph
from report.lineage import cached_tokens
from report.stats import SAMPLES, collect_stats
from report.timeline import Bar, Details, Lane, Link, Tone, draw
from report.wording import count, seconds, share

_COLUMNS = [
    ["session", "text"],
    ["harness", "text"],
    ["requests", "number"],
    ["agents", "number"],
    ["time", "us"],
    ["largest prompt", "tokens"],
    ["all prompts", "tokens"],
    ["answers", "tokens"],
    ["repeated", "share"],
]


def view_sessions(
    title: str,
    facts: Mapping[str, str],
    sessions: Sequence[Session],
    overlay: tuple[str, Sequence[Session]] | None = None,
) -> dict[str, Any]:
    """`overlay` is the title and the sessions of another data set, laid over the distributions."""
    stats = collect_stats(sessions)
    return {
        "title": title,
        "kind": "sessions",
        "facts": list(facts.items()),
        "numbers": _numbers(stats),
        "spreads": {
            "title": "How large and how fast, over all requests",
            "head": list(stats["input_tokens"]),
            "rows": [[words, *(write(value) for value in stats[name].values())] for name, words, write in SAMPLES],
        },
        "charts": [
            ["What is it made of?", _distributions(title, sessions, overlay)],
            ["What would a cache serve?", draw_caches(sessions)],
        ],
        "notes": [f"{MEANINGS[name].meaning}: {count(n)}" for name, n in stats["anomalies"].items() if n],
        "columns": _COLUMNS,
        "rows": [_row(session) for session in sessions],
        "views": [_timeline(session) for session in sessions],
    }


def _distributions(title: str, sessions: Sequence[Session], overlay: tuple[str, Sequence[Session]] | None) -> list[Any]:
    samples = collect_samples(sessions)
    if overlay is None:
        return draw_distributions(samples)
    other, others = overlay
    return draw_distributions(
        samples, collect_samples(others), (title, other if other != title else f"{other} (other)")
    )


def _numbers(stats: Mapping[str, Any]) -> list[list[str]]:
    """Title, value, remark."""
    return [
        ["sessions", count(stats["sessions"]), f"{count(stats['sessions_with_subagents'])} with sub-agents"],
        ["requests", count(stats["requests"]), f"of {count(stats['agents'])} agents"],
        [
            "prompt tokens that repeat",
            share(stats["in_session_prefix_hit"]),
            "best possible cache hit inside a session",
        ],
        ["median prompt", f"{count(stats['input_tokens']['p50'])} tokens", "a request"],
        ["median answer", f"{count(stats['output_tokens']['p50'])} tokens", "a request"],
        ["median pause", seconds(stats["gap_s"]["p50"]), "between two steps: tools, people"],
    ]


def _row(session: Session) -> list[Any]:
    prompts = sum(r.input_tokens for r in session.requests)
    version = ".".join(str(part) for part in session.harness_version)
    return [
        session.label,
        f"{session.harness or session.source_format} {version}".strip(),
        len(session.requests),
        len(session.agents),
        task_time_us(session.requests),
        max((r.input_tokens for r in session.requests), default=None),
        prompts,
        sum(r.output_tokens or 0 for r in session.requests),
        sum(cached_tokens(session)) / prompts if prompts else None,
    ]


def _timeline(session: Session) -> dict[str, Any]:
    order = list(agent_tree([agent.parent for agent in session.agents]))
    lane_of = {agent: lane for lane, (_, agent) in enumerate(order)}
    lanes = [Lane("main" if agent == 0 else f"{session.agents[agent].kind} {agent}", depth) for depth, agent in order]
    bars = [
        Bar(
            lane_of[r.agent],
            _tone(session, number),
            r.t_start_us,
            r.t_first_us,
            r.t_end_us,
            "lower" if r.purpose not in STEPS else "whole",
        )
        for number, r in enumerate(session.requests)
    ]
    unknown = sum(r.t_end_us is None for r in session.requests)
    note = f"Requests of unknown length, drawn as a line: {unknown}." if unknown else ""
    drawn = draw(session.label, note, lanes, bars, _details(session), map(_link, session.edges))
    return drawn | {"critical": _critical(session), "flame": draw_flamegraph(session)}


def _critical(session: Session) -> dict[str, Any] | None:
    """None without edges: every request would stand alone."""
    if not session.edges:
        return None
    try:
        path = critical_path(session.requests, session.edges)
    except ValueError as error:  # an imported graph may be anything
        return {"bars": [], "words": f"no critical path: {error}"}
    time = f"{seconds(path.duration_us / 1e6)} of {seconds(task_time_us(session.requests) / 1e6)}"
    return {"bars": list(path.requests), "words": f"critical path: {len(path.requests)} requests, {time}"}


def _tone(session: Session, number: int) -> Tone:
    request = session.requests[number]
    if request.end not in ("complete", "unknown") or (request.status or 200) >= 400:
        return "failed"
    if request.purpose not in STEPS:
        return "aside"
    return "child" if request.agent else "main"


def _details(session: Session) -> Details:
    requests = session.requests
    usages = [r.usage for r in requests]
    return {
        "request": ("number", [r.request for r in requests]),
        "purpose": ("text", [r.purpose for r in requests]),
        "model": ("text", [session.models[r.model] for r in requests]),
        "prompt": ("tokens", [r.input_tokens for r in requests]),
        "of it repeated": ("tokens", cached_tokens(session)),
        "answer": ("tokens", [r.output_tokens for r in requests]),
        "provider's prompt count": ("tokens", [u and u.input_tokens for u in usages]),
        "provider's cache read": ("tokens", [u and u.cache_read_tokens for u in usages]),
        "stop": ("text", [r.stop or None for r in requests]),
        "status": ("number", [r.status for r in requests]),
        "ended": ("text", [None if r.end == "complete" else r.end for r in requests]),
    }


def _link(edge: Edge) -> Link:
    words = f"{edge.kind}: {seconds(edge.delay_us / 1e6)} after its {edge.anchor}, known by {edge.evidence}"
    return Link(edge.src, edge.dst, edge.kind, edge.anchor, words, edge.evidence)
