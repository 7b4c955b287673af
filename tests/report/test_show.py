from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

from rich.console import Console, RenderableType

from corpus.session import Agent, Attempt, Edge, Session
from report.show import render_session, render_sessions

Make = Callable[..., Session]


def _lines(what: RenderableType) -> list[str]:
    console = Console(file=io.StringIO(), width=100, color_system=None)
    console.print(what)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_table_has_a_row_a_session(make_session: Make) -> None:
    lines = _lines(render_sessions([make_session([(0, 0, 1)]), make_session([(0, 0, 7200)], session=1)]))
    assert [line.split()[0] for line in lines] == ["session", "session-1", "session-2"]
    assert "2 h" in lines[2]


def test_tree_puts_nested_agents_below_their_parent(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (1, 2, 3), (2, 3, 4), (3, 3, 4)])
    agents = (session.agents[0], Agent(1, 0, "subagent"), Agent(2, None, "subagent"), Agent(3, 1, "subagent"))
    names = [
        " ".join(line.split()[: 1 if line.startswith("main") else 3])
        for line in _lines(render_session(replace(session, agents=agents)))
        if line.startswith("main") or "└" in line
    ]
    assert names == ["main", "└ subagent 1", "└ subagent 3", "└ subagent 2"]


def test_chart_draws_main_solid_and_children_shaded_where_they_ran(make_session: Make) -> None:
    lines = _lines(render_session(make_session([(0, 0, 10), (1, 10, 20), (0, 20, 40)])))
    main = next(line for line in lines if line.startswith("main"))
    child = next(line for line in lines if "└ subagent" in line)
    assert main[-40:-30] == "█" * 10
    assert "█" not in child
    assert child.index("▓") > main.index("█")
    assert all(len(line) <= 100 for line in lines)


def test_long_session_lists_agents_only_and_says_so(make_session: Make) -> None:
    lines = _lines(render_session(make_session([(0, n, n + 1) for n in range(70)])))
    assert sum("turn" in line for line in lines) == 0
    assert any("agents only" in line for line in lines)


def test_shortened_pauses_and_unknown_ends_are_named(make_session: Make) -> None:
    text = "\n".join(_lines(render_session(make_session([(0, 0, 10), (0, 5000, None)]))))
    assert "idle stretches shortened: 1" in text
    assert "unknown length" in text


def test_steps_say_what_they_came_after_and_attempts_are_counted(make_session: Make) -> None:
    session = make_session([(0, 0, 10), (0, 20, 30), (0, 40, 50)])
    edges = (Edge(0, 1, "sequence", 0, "end", "id"), Edge(1, 2, "sequence", 0, "end", "id"))
    failed = Attempt(5_000_000, None, "timeout", None, repeated=True)
    requests = (*session.requests[:2], replace(session.requests[2], attempts=(failed, failed)))
    lines = _lines(render_session(replace(session, edges=edges, requests=requests), ["human", None]))
    turns = [line.split() for line in lines if line.startswith("  turn")]
    assert [turn[2] == "human" for turn in turns] == [False, True, False]
    assert any("2 more attempts came to nothing" in line for line in lines)
