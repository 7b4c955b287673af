"""Sessions in a terminal: a table of them, or one as a tree of agents with a bar chart of time beside it.

The chart shortens idle stretches (a person at lunch would otherwise squeeze the work into one column) and says where;
it is meant for 100 columns and more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from corpus.graph import task_time_us
from corpus.session import Agent, Request, Session
from report.agent_tree import agent_tree
from report.lineage import cached_tokens
from report.time_axis import TimeAxis, shorten_idle
from report.wording import count, seconds, share

_MAX_ROWS: Final = 60  # more requests than this, and only agents are listed
_CHART: Final = 40  # columns
_MAIN, _CHILD, _LIFE = "█", "▓", "·"


def render_sessions(sessions: Iterable[Session]) -> RenderableType:
    table = Table("session", "harness", box=None, pad_edge=False)
    for name in ("requests", "agents", "time", "largest prompt", "answers", "repeated"):
        table.add_column(name, justify="right")
    for session in sessions:
        table.add_row(
            session.label,
            _harness(session),
            count(len(session.requests)),
            count(len(session.agents)),
            seconds(task_time_us(session.requests) / 1e6),
            count(max((r.input_tokens for r in session.requests), default=None)),
            count(sum(r.output_tokens or 0 for r in session.requests)),
            share(_hit(session)),
        )
    return table


def render_session(session: Session, causes: Sequence[str | None] = ()) -> RenderableType:
    """The session as a tree; each request has a row while there are few enough. `causes`: of each edge's gap."""
    axis = shorten_idle([(r.t_start_us, r.t_end_us) for r in session.requests])
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("agent", no_wrap=True)
    for name in ("req", "after", "start", "time", "prompt", "answer"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(_ruler(axis), no_wrap=True)
    detailed = len(session.requests) <= _MAX_ROWS
    waited = {edge.dst: cause for edge, cause in zip(session.edges, causes, strict=False) if cause}
    for depth, number in agent_tree([agent.parent for agent in session.agents]):
        agent = session.agents[number]
        requests = [r for r in session.requests if r.agent == agent.agent]
        table.add_row(*_agent_row(agent, depth, requests), _bar(axis, requests, agent))
        for request in requests if detailed else ():
            words = _request_row(request, depth, waited.get(request.request, ""))
            table.add_row(*words, _bar(axis, [request], agent), style="dim")
    return Group(_title(session), Text(), table, Text(), _legend(session, axis, detailed=detailed))


def _title(session: Session) -> Text:
    return Text.assemble(
        (session.label, "bold"),
        f"  {_harness(session)}  {', '.join(session.models)}\n",
        f"{len(session.requests)} requests, {len(session.agents)} agents, {len(session.edges)} edges, ",
        f"{seconds(task_time_us(session.requests) / 1e6)}; {share(_hit(session))} of the prompt tokens repeat",
    )


def _legend(session: Session, axis: TimeAxis, *, detailed: bool) -> Text:
    words = [f"{_MAIN} main  {_CHILD} other agents  {_LIFE} alive, nothing sent"]
    if axis.cuts:
        words.append(f"┊ idle stretches shortened: {len(axis.cuts)}, {seconds(axis.hidden_us / 1e6)} in all")
    if any(r.t_end_us is None for r in session.requests):
        words.append("requests of unknown length are drawn one column wide")
    if tries := sum(len(r.attempts) for r in session.requests):
        words.append(f"{tries} more attempts came to nothing; `agentreel graph --json` lists each with its request")
    if not detailed:
        words.append(f"more than {_MAX_ROWS} requests: agents only; `agentreel report` shows each")
    return Text("\n".join(words), style="dim")


def _agent_row(agent: Agent, depth: int, requests: list[Request]) -> list[str | Text]:
    name = "main" if agent.agent == 0 else f"{agent.kind} {agent.agent}"
    label = Text("  " * (depth - 1) + ("└ " if depth else "") + name, style="bold")
    if not requests:
        return [label, "0", "", "", "", "", ""]
    return [
        label,
        count(len(requests)),
        "",
        seconds(requests[0].t_start_us / 1e6),
        seconds(task_time_us(requests) / 1e6),
        count(max(r.input_tokens for r in requests)),
        count(sum(r.output_tokens or 0 for r in requests)),
    ]


def _request_row(request: Request, depth: int, after: str) -> list[str | Text]:
    length = None if request.t_end_us is None else (request.t_end_us - request.t_start_us) / 1e6
    return [
        Text("  " * (depth + 1) + request.purpose),
        str(request.request),
        after,
        seconds(request.t_start_us / 1e6),
        seconds(length),
        count(request.input_tokens),
        count(request.output_tokens),
    ]


def _bar(axis: TimeAxis, requests: list[Request], agent: Agent) -> Text:
    cells = [" "] * _CHART
    spans = [axis.columns(r.t_start_us, r.t_end_us, _CHART) for r in requests]
    if spans:
        first, last = min(span.start for span in spans), max(span.stop for span in spans)
        cells[first:last] = _LIFE * (last - first)
    for span in spans:
        cells[span.start : span.stop] = (_MAIN if agent.agent == 0 else _CHILD) * len(span)
    return Text("".join(cells), style="cyan" if agent.agent == 0 else "green")


def _ruler(axis: TimeAxis) -> Text:
    """Time from the left edge to the right, with a mark where idle time was cut out."""
    end = seconds(axis.end_us / 1e6)
    cells = ["0"] + [" "] * (_CHART - len(end) - 1)
    for cut in axis.cuts:
        column = axis.columns(cut.start_us, None, _CHART).start
        if 0 < column < len(cells) - 1:
            cells[column] = "┊"
    return Text("".join(cells) + end, style="dim")


def _harness(session: Session) -> str:
    version = ".".join(str(part) for part in session.harness_version)
    return f"{session.harness or session.source_format} {version}".strip()


def _hit(session: Session) -> float | None:
    total = sum(r.input_tokens for r in session.requests)
    return sum(cached_tokens(session)) / total if total else None
