from __future__ import annotations

from collections.abc import Callable

from corpus.session import Delivery, Session, ToolCall
from dagbuild.link import link_session

Make = Callable[..., Session]


def edges(session: Session) -> list[tuple[int, int, str, str]]:
    return [(e.src, e.dst, e.kind, e.evidence) for e in link_session(session).edges if e.kind in ("spawn", "join")]


def test_stages_of_a_workflow_follow_each_other_and_the_last_reports(make_session: Make) -> None:
    steps = [(0, 0, 1), (0, 1.5, 2), (1, 3, 4), (2, 3.5, 5), (3, 6, 7), (0, 8, 9)]
    launch = ToolCall(0, 0, 1, "agent", None, None, (Delivery(5, "notification"),))
    assert edges(make_session(steps, [launch])) == [
        (0, 2, "spawn", "notification"),
        (0, 3, "spawn", "notification"),
        (2, 4, "spawn", "timing"),
        (3, 4, "spawn", "timing"),
        (4, 5, "join", "notification"),
    ]


def test_a_stage_waits_only_for_the_one_just_before(make_session: Make) -> None:
    steps = [(0, 0, 1), (1, 2, 3), (2, 4, 5), (3, 6, 7), (0, 8, 9)]
    launch = ToolCall(0, 0, 4, "other", None, None, ())
    assert edges(make_session(steps, [launch])) == [
        (0, 1, "spawn", "tool_result"),
        (1, 2, "spawn", "timing"),
        (2, 3, "spawn", "timing"),
        (3, 4, "join", "tool_result"),
    ]


def test_a_child_that_outlives_the_result_was_not_started_by_the_call(make_session: Make) -> None:
    steps = [(0, 0, 1), (1, 2, 9), (0, 5, 6), (0, 10, 11)]
    launch = ToolCall(0, 0, 2, "other", None, None, ())
    assert edges(make_session(steps, [launch])) == [(0, 1, "spawn", "timing"), (1, 3, "join", "timing")]


def test_two_open_calls_explain_nothing(make_session: Make) -> None:
    steps = [(0, 0, 1), (1, 2, 3), (0, 5, 6)]
    launches = [ToolCall(n, 0, 2, "other", None, None, ()) for n in range(2)]
    assert edges(make_session(steps, launches)) == [(0, 1, "spawn", "timing"), (1, 2, "join", "timing")]


def test_a_shell_or_another_agent_s_call_starts_nobody(make_session: Make) -> None:
    steps = [(0, 0, 1), (1, 2, 3), (2, 2.5, 3), (0, 5, 6)]
    calls = [ToolCall(0, 0, 3, "shell", None, None, ()), ToolCall(1, 0, 3, "agent", None, 2, ())]
    assert (0, 1, "spawn", "timing") in edges(make_session(steps, calls))
