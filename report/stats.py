"""A corpus in numbers: the document of `agentreel stats --json`, and the same for a terminal.

Percentiles interpolate linearly; an empty sample gives null. Gaps are taken between consecutive steps of one stream
whose ends are known and that do not overlap. The prefix hit is weighted by tokens: what a cache without limit, emptied
between sessions, would have served of all prompt tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from corpus.graph import task_time_us
from corpus.session import Session
from report.anomalies import MEANINGS, count_anomalies
from report.lineage import cached_tokens, steps
from report.lookalikes import Lookalikes
from report.sparkline import draw_bars, log_bins
from report.wording import count, seconds, share

_PERCENTILES: Final = (10, 50, 90, 95, 99)
_CHILDREN: Final = ("subagent", "workflow", "fork")

# name in the document, what a person reads, how its values are written
SAMPLES: Final = (
    ("input_tokens", "prompt tokens a request", count),
    ("output_tokens", "answer tokens a request", count),
    ("gap_s", "pause between two steps", seconds),
    ("subagents_per_session", "sub-agents (of sessions with)", count),
    ("subagent_wall_s", "life of a sub-agent", seconds),
)


@dataclass(slots=True)
class _Tally:
    sessions: int = 0
    requests: int = 0
    agents: int = 0
    input_tokens: list[int] = field(default_factory=list)
    output_tokens: list[int] = field(default_factory=list)
    gaps_us: list[int] = field(default_factory=list)
    children: list[int] = field(default_factory=list)  # per session that has any
    child_walls_us: list[int] = field(default_factory=list)
    cached_tokens: int = 0
    anomalies: Counter[str] = field(default_factory=Counter)
    lookalikes: Lookalikes = field(default_factory=Lookalikes)


def collect_stats(sessions: Iterable[Session]) -> dict[str, Any]:
    """Reads the sessions once, keeping numbers only."""
    tally = _Tally()
    for session in sessions:
        _add(tally, session)
    total = sum(tally.input_tokens)
    duplicates, forks = tally.lookalikes.copies(), tally.lookalikes.forks()
    tally.anomalies["duplicate_session"] = sum(len(group) - 1 for group in duplicates)
    tally.anomalies["forked_session"] = sum(map(len, forks))
    return {
        "sessions": tally.sessions,
        "requests": tally.requests,
        "agents": tally.agents,
        "sessions_with_subagents": len(tally.children),
        "subagents_per_session": _spread(tally.children),
        "subagent_wall_s": _spread(tally.child_walls_us, 1e6),
        "input_tokens": _spread(tally.input_tokens),
        "output_tokens": _spread(tally.output_tokens),
        "gap_s": _spread(tally.gaps_us, 1e6),
        "in_session_prefix_hit": tally.cached_tokens / total if total else None,
        "log_bins": {
            "subagents_per_session": log_bins(tally.children),
            "subagent_wall_s": log_bins(tally.child_walls_us, 1e6),
            "input_tokens": log_bins(tally.input_tokens),
            "output_tokens": log_bins(tally.output_tokens),
            "gap_s": log_bins(tally.gaps_us, 1e6),
        },
        "anomalies": {name: tally.anomalies[name] for name in MEANINGS},
        "duplicates": duplicates,
        "forks": forks,
    }


def render_stats(stats: dict[str, Any]) -> RenderableType:
    hit = stats["in_session_prefix_hit"]
    head = Text.assemble(
        (f"{count(stats['sessions'])} sessions", "bold"),
        f" ({count(stats['sessions_with_subagents'])} with sub-agents), {count(stats['agents'])} agents, ",
        (f"{count(stats['requests'])} requests", "bold"),
        f"; of their prompt tokens {share(hit)} repeat an earlier prompt of the session",
    )
    spreads = Table(
        *("", *(f"p{p}" for p in _PERCENTILES), "max", "log bins"), box=None, pad_edge=False, collapse_padding=True
    )
    for column in spreads.columns:
        column.no_wrap = True
    for column in spreads.columns[1:-1]:
        column.justify = "right"
    for name, words, write in SAMPLES:
        spreads.add_row(words, *map(write, stats[name].values()), draw_bars(stats["log_bins"][name]))
    odd = Table("count", "anomaly", "meaning", "what is done about it", box=None, pad_edge=False)
    odd.columns[0].justify = "right"
    for name, number in stats["anomalies"].items():
        if number:
            odd.add_row(count(number), name, *MEANINGS[name])
    nothing = Text("anomalies: none found", style="dim")
    alike = [
        Text(f"{what}: {', '.join(group)}", style="dim")
        for what, groups in (("the same", stats["duplicates"]), ("forks", stats["forks"]))
        for group in groups
    ]
    return Group(head, Text(), spreads, Text(), odd if odd.row_count else nothing, *alike)


def _add(tally: _Tally, session: Session) -> None:
    tally.sessions += 1
    tally.requests += len(session.requests)
    tally.agents += len(session.agents)
    tally.input_tokens += [r.input_tokens for r in session.requests]
    tally.output_tokens += [r.output_tokens for r in session.requests if r.output_tokens is not None]
    tally.gaps_us += [
        after.t_start_us - before.t_end_us
        for before, after in steps(session)
        if before.t_end_us is not None and before.t_end_us <= after.t_start_us
    ]
    children = {agent.agent for agent in session.agents if agent.kind in _CHILDREN}
    if children:
        tally.children.append(len(children))
    tally.child_walls_us += [task_time_us(r for r in session.requests if r.agent == child) for child in children]
    tally.cached_tokens += sum(cached_tokens(session))
    tally.anomalies += count_anomalies(session)
    tally.lookalikes.add(session)


def _spread(values: Sequence[int], divisor: float = 1) -> dict[str, float | None]:
    names = [f"p{p}" for p in _PERCENTILES]
    if not values:
        return dict.fromkeys([*names, "max"])
    found = np.percentile(np.asarray(values), _PERCENTILES) / divisor
    return dict(zip(names, found.tolist(), strict=True)) | {"max": max(values) / divisor}
