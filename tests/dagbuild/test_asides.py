from __future__ import annotations

from collections.abc import Callable

import pytest

from corpus.exchange import Purpose
from corpus.session import Session, ToolCall
from dagbuild.link import link_session

Make = Callable[..., Session]
LEAVES: tuple[Purpose, ...] = ("title", "side_question", "memory", "count_tokens", "probe")
RETURNING: tuple[Purpose, ...] = ("web_search", "web_fetch", "classifier", "guardian", "hook", "prewarm")


def _edges(session: Session) -> list[tuple[int, int, str]]:
    return [(e.src, e.dst, e.kind) for e in link_session(session).edges]


@pytest.mark.parametrize("purpose", LEAVES)
def test_leaf_hangs_on_the_step_before_and_never_joins(make_session: Make, purpose: Purpose) -> None:
    session = make_session([(0, 0, 1), (0, 2, 3), (0, 4, 5), (0, 6, 7)], purposes={2: purpose})
    assert _edges(session) == [(0, 1, "sequence"), (1, 2, "aux"), (1, 3, "sequence")]


@pytest.mark.parametrize("purpose", RETURNING)
def test_returning_aside_holds_up_the_next_step(make_session: Make, purpose: Purpose) -> None:
    session = make_session([(0, 0, 1), (0, 2, 3), (0, 4, 5)], purposes={1: purpose})
    assert _edges(session) == [(0, 1, "aux"), (0, 2, "sequence"), (1, 2, "join")]


def test_title_before_the_first_step_is_a_root(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (0, 0.2, 3), (0, 4, 5)], purposes={0: "title"})
    assert _edges(session) == [(1, 2, "sequence")]


def test_side_agent_serves_its_parent_one_aside_at_a_time(make_session: Make) -> None:
    """A guardian thread lives as long as the session; each of its requests answers one pending call."""
    session = make_session(
        [(0, 0, 1), (1, 2, 3), (0, 4, 5), (1, 6, 7), (0, 8, 9)],
        kinds={1: "side"},
        purposes={1: "guardian", 3: "guardian"},
    )
    assert _edges(session) == [
        (0, 1, "aux"),
        (0, 2, "sequence"),
        (1, 2, "join"),
        (2, 3, "aux"),
        (2, 4, "sequence"),
        (3, 4, "join"),
    ]


def test_aside_of_a_subagent_joins_the_subagent(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (1, 2, 3), (1, 4, 5), (0, 5, 6), (1, 7, 8)], purposes={2: "web_search"})
    assert {(1, 2, "aux"), (2, 4, "join")} <= set(_edges(session))
    assert (2, 3, "join") not in _edges(session)


def test_repeated_aside_joins_from_its_last_attempt_only(make_session: Make) -> None:
    session = make_session(
        [(0, 0, 1), (0, 2, 3), (0, 4, 5), (0, 6, 7)], purposes={1: "web_fetch", 2: "web_fetch"}, retries={2: 1}
    )
    assert _edges(session) == [(0, 1, "aux"), (1, 2, "retry"), (0, 3, "sequence"), (2, 3, "join")]


def test_conversation_of_a_hook_is_a_child_like_any_other(make_session: Make) -> None:
    session = make_session(
        [(0, 0, 1), (1, 2, 3), (1, 4, 5), (0, 6, 7)], kinds={1: "hook"}, purposes={1: "hook", 2: "hook"}
    )
    assert _edges(session) == [(0, 1, "spawn"), (1, 2, "sequence"), (0, 3, "sequence"), (2, 3, "join")]


def test_aside_that_overlaps_the_step_before_hangs_on_its_start(make_session: Make) -> None:
    (edge,) = link_session(make_session([(0, 0, 9), (0, 2, 3)], purposes={1: "side_question"})).edges
    assert (edge.kind, edge.anchor, edge.delay_us) == ("aux", "start", 2_000_000)


def test_an_unnamed_check_serves_whose_call_is_open_not_who_waits_for_a_child_at_work(make_session: Make) -> None:
    steps = [(0, 0, 1), (1, 2, 3), (0, 3.5, 4), (1, 5, 6), (0, 7, 8)]
    calls = [ToolCall(0, 0, 4, "agent", None, 1, ()), ToolCall(1, 1, 3, "shell", None, None, ())]
    session = make_session(steps, calls, purposes={2: "classifier"})
    beside = [(e.src, e.dst, e.kind, e.evidence) for e in link_session(session).edges if 2 in (e.src, e.dst)]
    assert beside == [(1, 2, "aux", "tool_result"), (2, 3, "join", "tool_result")]


def test_a_search_between_two_open_calls_is_told_by_time(make_session: Make) -> None:
    steps = [(0, 0, 1), (1, 2, 3), (0, 3.5, 4), (1, 5, 6), (0, 7, 8)]
    calls = [ToolCall(0, 0, 4, "web", None, None, ()), ToolCall(1, 1, 3, "web", None, None, ())]
    session = make_session(steps, calls, purposes={2: "web_search"})
    beside = [(e.src, e.dst, e.kind, e.evidence) for e in link_session(session).edges if 2 in (e.src, e.dst)]
    assert beside == [(1, 2, "aux", "timing"), (2, 3, "join", "timing")]
