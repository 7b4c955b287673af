from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from corpus.blocks import encode_blocks
from corpus.session import Attempt, Delivery, Role, Segments, Session, ToolCall
from dagbuild.causes import gap_causes, retried_us
from dagbuild.link import link_session

Make = Callable[..., Session]


def cause(make: Make, *, before: dict[str, Any] | None = None, after: dict[str, Any] | None = None, **more: Any) -> Any:
    session = make([(0, 0, 1), (0, 2, 3)], **more)
    first, second = session.requests
    requests = (replace(first, **(before or {})), replace(second, **(after or {})))
    (edge,) = gap_causes(link_session(replace(session, requests=requests)))
    return edge


def grown(*roles: Role) -> dict[str, Any]:
    """A prompt that adds segments of these roles to the one before."""
    return {"blocks": encode_blocks([[1], [1, 2]])[1], "segments": Segments(1, roles, (1,) * len(roles))}


BASE: dict[str, Any] = {"blocks": encode_blocks([[1]])[0], "segments": Segments(0, ("user",), (1,))}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {}, None),
        ({"stop": "tool_use"}, {}, "tool"),
        ({"stop": "end_turn"}, {}, "human"),
        ({"stop": "max_tokens"}, {}, "harness"),
        ({"purpose": "compaction"}, {}, "harness"),
        ({}, {"purpose": "compaction"}, "harness"),
        ({"stop": "end_turn"}, {"input_kinds": ("tool_result",)}, "tool"),
        ({"stop": "tool_use"}, {"input_kinds": ("text",)}, "human"),
        (BASE, grown("assistant", "tool_call", "tool_result"), "tool"),
        (BASE, grown("assistant", "user"), "human"),
        (BASE | {"stop": "end_turn"}, grown("assistant", "reminder"), None),
        (BASE | {"end": "client_abort"}, grown("user"), "human"),
    ],
)
def test_cause_of_a_gap(
    make_session: Make, before: dict[str, Any], after: dict[str, Any], expected: str | None
) -> None:
    assert cause(make_session, before=before, after=after) == expected


def test_a_retry_waits_for_the_client(make_session: Make) -> None:
    assert cause(make_session, retries={1: 0}, before={"stop": "tool_use"}) == "retry"


@pytest.mark.parametrize(
    ("lead_s", "repeated", "expected"), [(0.6, True, "retry"), (0.4, True, "tool"), (0.6, False, "tool")]
)
def test_what_most_of_a_gap_went_into_is_its_cause(
    make_session: Make, lead_s: float, *, repeated: bool, expected: str
) -> None:
    tries = (Attempt(round(lead_s * 1e6), 1000, "complete", 529, repeated=repeated),)
    assert cause(make_session, before={"stop": "tool_use"}, after={"attempts": tries}) == expected


def test_attempts_that_began_before_the_gap_took_all_of_it(make_session: Make) -> None:
    session = link_session(make_session([(0, 0, 1), (0, 2, 3)]))
    tries = (Attempt(9_000_000, 1000, "complete", 529, repeated=True),)
    assert retried_us(session.edges[0], replace(session.requests[1], attempts=tries)) == 1_000_000


def test_the_same_prompt_after_nothing_came_is_a_retry(make_session: Make) -> None:
    silent, again = (
        BASE | {"output_tokens": 0},
        {"blocks": encode_blocks([[1], [1]])[1], "segments": Segments(1, (), ())},
    )
    assert cause(make_session, before=silent, after=again) == "retry"
    assert cause(make_session, before=BASE, after=again) is None


def test_a_call_s_result_is_a_tool_a_child_s_is_an_agent(make_session: Make) -> None:
    steps = [(0, 0, 1), (1, 2, 3), (0, 4, 5), (0, 6, 7)]
    calls = [
        ToolCall(0, 0, 2, "agent", None, 1, ()),
        ToolCall(1, 2, 3, "shell", None, None, ()),
    ]
    session = link_session(make_session(steps, calls))
    causes = {(e.src, e.dst): c for e, c in zip(session.edges, gap_causes(session), strict=True)}
    assert causes == {(0, 1): None, (0, 2): "agent", (1, 2): None, (2, 3): "tool"}


def test_the_acknowledgement_of_a_launch_is_a_tool_and_its_notification_an_agent(make_session: Make) -> None:
    steps = [(0, 0, 1), (1, 2, 5), (0, 3, 4), (0, 6, 7)]
    calls = [ToolCall(0, 0, 2, "agent", None, 1, (Delivery(3, "notification"),))]
    session = link_session(make_session(steps, calls))
    causes = {(e.src, e.dst): c for e, c in zip(session.edges, gap_causes(session), strict=True)}
    assert (causes[0, 2], causes[2, 3]) == ("tool", "agent")


def test_a_child_s_next_task_comes_from_its_parent(make_session: Make) -> None:
    steps = [(0, 0, 1), (1, 2, 3), (0, 4, 5), (1, 6, 7)]
    calls = [ToolCall(0, 0, 2, "agent", None, 1, ()), ToolCall(1, 2, None, "agent", None, 1, ())]
    session = link_session(make_session(steps, calls))
    causes = {(e.src, e.dst): c for e, c in zip(session.edges, gap_causes(session), strict=True)}
    assert causes[1, 3] == "agent"


def test_an_aside_s_next_turn_is_the_harness(make_session: Make) -> None:
    purposes = {1: "classifier", 2: "classifier"}
    session = make_session(
        [(0, 0, 1), (0, 2, 3), (0, 4, 5), (0, 6, 7)], lists=[[1], [5], [5, 6], [1, 2]], purposes=purposes
    )
    linked = link_session(session)
    causes = {(e.src, e.dst): c for e, c in zip(linked.edges, gap_causes(linked), strict=True)}
    assert causes[1, 2] == "harness"
