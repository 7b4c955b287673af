from __future__ import annotations

from collections.abc import Callable

import pytest

from corpus.session import Delivery, EdgeKind, Session, ToolCall
from dagbuild.link import link_session

Make = Callable[..., Session]


def _links(session: Session, *kinds: EdgeKind) -> list[tuple[int, int, str, str]]:
    return [(e.src, e.dst, e.kind, e.evidence) for e in link_session(session).edges if e.kind in kinds]


def _call(emit: int, result: int | None, spawned: int | None, *deliveries: Delivery) -> ToolCall:
    return ToolCall(0, emit, result, "agent", None, spawned, deliveries)


def test_published_picture_of_four_subagents_in_two_groups(make_session: Make) -> None:
    """001 and 002 end at 20 s and 23 s and join at 25 s; 003 and 004 end at 46 s and 50 s and join at 52 s."""
    steps = [(0, 0, 4), (1, 5, 20), (2, 5, 23), (3, 6, 46), (4, 6, 50), (0, 25, 30), (0, 52, 55)]
    assert _links(make_session(steps, weka=True), "spawn", "join") == [
        (0, 1, "spawn", "timing"),
        (0, 2, "spawn", "timing"),
        (0, 3, "spawn", "timing"),
        (0, 4, "spawn", "timing"),
        (1, 5, "join", "timing"),
        (2, 5, "join", "timing"),
        (3, 6, "join", "timing"),
        (4, 6, "join", "timing"),
    ]


def test_child_that_outlives_the_parent_never_joins(make_session: Make) -> None:
    assert _links(make_session([(0, 0, 1), (1, 2, 9), (0, 3, 4)]), "join") == []


def test_child_before_any_request_of_its_parent_is_a_root(make_session: Make) -> None:
    session = make_session([(1, 0, 1), (0, 2, 3)])
    assert _links(session, "spawn") == []


def test_timed_spawn_while_the_parent_still_speaks_hangs_on_its_start(make_session: Make) -> None:
    (edge,) = [e for e in link_session(make_session([(0, 0, 9), (1, 4, 5)])).edges if e.kind == "spawn"]
    assert (edge.anchor, edge.delay_us) == ("start", 4_000_000)


def test_blocking_agent_joins_by_the_result_of_its_call(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (1, 2, 3), (1, 4, 5), (0, 6, 7)], [_call(0, 3, 1)])
    assert _links(session, "spawn", "join") == [(0, 1, "spawn", "tool_result"), (2, 3, "join", "tool_result")]


def test_background_launch_acknowledgement_is_no_join(make_session: Make) -> None:
    """The parent's very next request carries the result while the child is between two requests."""
    steps = [(0, 0, 1), (1, 1.1, 1.2), (0, 1.3, 2), (1, 3, 4), (0, 6, 7)]
    session = make_session(steps, [_call(0, 2, 1, Delivery(4, "notification"))])
    assert _links(session, "join") == [(3, 4, "join", "notification")]


def test_acknowledgement_is_no_join_even_when_a_quick_child_was_done_before_it(make_session: Make) -> None:
    steps = [(0, 0, 1), (1, 1.05, 1.1), (0, 1.3, 2), (0, 3, 4)]
    session = make_session(steps, [_call(0, 2, 1, Delivery(3, "notification"))])
    assert _links(session, "join") == [(1, 3, "join", "notification")]


def test_call_explains_the_spawn_even_when_a_later_parent_request_comes_first(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (0, 1.05, 9), (1, 1.1, 2), (0, 10, 11)], [_call(0, 1, 1)])
    assert _links(session, "spawn") == [(0, 2, "spawn", "tool_result")]


def test_retasked_child_gets_a_second_spawn_and_a_second_join(make_session: Make) -> None:
    steps = [(0, 0, 1), (1, 2, 3), (0, 4, 5), (1, 6, 7), (0, 8, 9)]
    first = _call(0, None, 1, Delivery(2, "agent_message"), Delivery(4, "agent_message"))
    assert _links(make_session(steps, [first, _call(2, 4, 1)]), "spawn", "join") == [
        (0, 1, "spawn", "id"),
        (1, 2, "join", "agent_message"),
        (2, 3, "spawn", "id"),
        (3, 4, "join", "tool_result"),
    ]


def test_new_task_nobody_took_up_gives_no_edge(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (1, 2, 3), (0, 4, 5)], [_call(0, 2, 1), _call(2, None, 1)])
    assert _links(session, "spawn") == [(0, 1, "spawn", "tool_result")]


def test_call_without_any_report_heard_is_joined_by_time(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (0, 1.1, 2), (1, 1.2, 3), (0, 4, 5)], [_call(0, 1, 1)])
    assert _links(session, "join") == [(2, 3, "join", "timing")]


def test_one_prompt_can_carry_several_reports(make_session: Make) -> None:
    steps = [(0, 0, 1), (1, 2, 3), (2, 2, 4), (0, 6, 7)]
    heard = Delivery(3, "notification")
    assert _links(make_session(steps, [_call(0, None, 1, heard), _call(0, None, 2, heard)]), "join") == [
        (1, 3, "join", "notification"),
        (2, 3, "join", "notification"),
    ]


@pytest.mark.parametrize("calls", [[], [_call(1, 3, 2)]])
def test_nested_agent_belongs_to_its_parent_and_not_to_main(make_session: Make, calls: list[ToolCall]) -> None:
    steps = [(0, 0, 1), (1, 2, 3), (2, 4, 5), (1, 6, 7), (0, 8, 9)]
    links = _links(make_session(steps, calls, parents={1: 0, 2: 1}), "spawn", "join")
    assert [link[:3] for link in links] == [(0, 1, "spawn"), (1, 2, "spawn"), (2, 3, "join"), (3, 4, "join")]


def test_fork_without_a_call_is_marked_as_a_fork(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (1, 2, 3)], kinds={1: "fork"})
    assert _links(session, "spawn") == [(0, 1, "spawn", "fork")]


def test_join_leaves_from_the_childs_latest_end_not_its_latest_start(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (1, 2, 9), (1, 3, 4), (0, 10, 11)])
    assert _links(session, "join") == [(1, 3, "join", "timing")]
