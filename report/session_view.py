"""Sessions on the page: the numbers of the corpus, a row a session, a timeline a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from corpus.graph import critical_path, task_time_us
from corpus.purpose import STEPS
from corpus.session import Edge, Request, Session
from report.agent_tree import agent_tree
from report.anomalies import MEANINGS
from report.cache_view import draw_caches
from report.calibration_view import draw_calibration
from report.distributions import collect_samples, draw_distributions
from report.lineage import cached_tokens
from report.packing import Column
from report.stats import SAMPLES, collect_stats
from report.timeline import Bar, Details, Drawing, Lane, Link, Tone, draw
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
            ["Are prompts as long as they were billed?", draw_calibration(sessions)],
        ],
        "notes": [f"{MEANINGS[name].meaning}: {count(n)}" for name, n in stats["anomalies"].items() if n],
        "columns": _COLUMNS,
        "rows": [_row(session) for session in sessions],
        **_timelines(sessions),
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


def _timelines(sessions: Sequence[Session]) -> dict[str, Any]:
    """Drawings of all sessions; `flame` and `critical` go by the same rows as the bars."""
    cached = [tokens for session in sessions for tokens in cached_tokens(session)]
    paths = [_critical(session) for session in sessions]
    requests = [request for session in sessions for request in session.requests]
    drawn = draw(
        [_drawing(session, words) for session, (_, words) in zip(sessions, paths, strict=True)],
        _details(sessions, requests, cached),
    )
    drawn["sheet"] |= {
        "flame": {
            "cached": Column(cached),
            "prompt": Column([r.input_tokens for r in requests]),
            "output": Column([r.output_tokens for r in requests]),
        },
        "critical": Column([int(on_it) for on_path, _ in paths for on_it in on_path]),
    }
    return drawn


def _drawing(session: Session, critical: str | None) -> Drawing:
    order = list(agent_tree([agent.parent for agent in session.agents]))
    lane_of = {agent: lane for lane, (_, agent) in enumerate(order)}
    lanes = [Lane("main" if agent == 0 else f"{session.agents[agent].kind} {agent}", depth) for depth, agent in order]
    bars = [
        Bar(lane_of[r.agent], _tone(session, number), r.t_start_us, r.t_first_us, r.t_end_us)
        for number, r in enumerate(session.requests)
    ]
    unknown = sum(r.t_end_us is None for r in session.requests)
    note = f"Requests of unknown length, drawn as a line: {unknown}." if unknown else ""
    unanswered = sum(r.output_tokens is None for r in session.requests)
    more = {
        "critical": critical,
        "flame": f"Answers of unknown length, drawn without one: {unanswered}." if unanswered else "",
    }
    return Drawing(session.label, note, lanes, bars, [_link(edge) for edge in session.edges], more=more)


def _critical(session: Session) -> tuple[list[bool], str | None]:
    """Which requests lie on it, and its words: None without edges, as every request would stand alone."""
    on_path = [False] * len(session.requests)
    if not session.edges:
        return on_path, None
    try:
        path = critical_path(session.requests, session.edges)
    except ValueError as error:  # an imported graph may be anything
        return on_path, f"no critical path: {error}"
    for request in path.requests:
        on_path[request] = True
    time = f"{seconds(path.duration_us / 1e6)} of {seconds(task_time_us(session.requests) / 1e6)}"
    return on_path, f"critical path: {len(path.requests)} requests, {time}"


def _tone(session: Session, number: int) -> Tone:
    request = session.requests[number]
    if request.end not in ("complete", "unknown") or (request.status or 200) >= 400:
        return "failed"
    if request.purpose not in STEPS:
        return "aside"
    return "child" if request.agent else "main"


def _details(sessions: Sequence[Session], requests: Sequence[Request], cached: Sequence[int]) -> Details:
    usages = [r.usage for r in requests]
    return {
        "request": ("number", [r.request for r in requests]),
        "purpose": ("text", [r.purpose for r in requests]),
        "model": ("text", [session.models[r.model] for session in sessions for r in session.requests]),
        "prompt": ("tokens", [r.input_tokens for r in requests]),
        "of it repeated": ("tokens", cached),
        "answer": ("tokens", [r.output_tokens for r in requests]),
        "provider's prompt count": ("tokens", [u and u.input_tokens for u in usages]),
        "provider's cache read": ("tokens", [u and u.cache_read_tokens for u in usages]),
        "stop": ("text", [r.stop or None for r in requests]),
        "status": ("number", [r.status for r in requests]),
        "ended": ("text", [None if r.end == "complete" else r.end for r in requests]),
    }


def _link(edge: Edge) -> Link:
    return Link(edge.src, edge.dst, edge.kind, edge.anchor, edge.delay_us, edge.evidence)
