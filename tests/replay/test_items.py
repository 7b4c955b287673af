from __future__ import annotations

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from corpus.session import Role
from replay.items import KINDS, Item, Kind, Manners, items_of, kinds_in
from tests.replay.rehearsal import Asked, session_of

ROLES: tuple[Role, ...] = get_args(Role)
SEGMENTS = st.lists(st.tuples(st.sampled_from(ROLES), st.integers(0, 20)), max_size=12)


def kinds(
    segments: list[tuple[Role, int]], refused: frozenset[Kind] = frozenset(), *, user_opens: bool = False
) -> list[Kind]:
    tokens = sum(count for _, count in segments)
    return [item.kind for item in items_of(tokens, tuple(segments), Manners(refused, user_opens))]


def test_every_role_of_a_corpus_speaks_in_a_conversation() -> None:
    assert set(KINDS) == set(ROLES)


def test_neighbours_of_one_kind_are_one_text_and_calls_and_results_stay_single() -> None:
    segments: list[tuple[Role, int]] = [
        ("tools", 10),
        ("system", 5),
        ("user", 3),
        ("reminder", 2),
        ("thinking", 4),
        ("tool_call", 4),
        ("tool_call", 6),
        ("tool_result", 7),
        ("tool_result", 8),
    ]
    assert items_of(49, tuple(segments)) == (
        Item("system", 0, 15),
        Item("user", 15, 20),
        Item("assistant", 20, 24),
        Item("call", 24, 28, 5),
        Item("call", 28, 34, 6),
        Item("result", 34, 41, 5),
        Item("result", 41, 49, 6),
    )


def test_prompt_without_segments_is_one_item_of_the_user() -> None:
    assert items_of(9, ()) == (Item("user", 0, 9),)
    assert items_of(9, (("user", 4),)) == (Item("user", 0, 9),)
    assert items_of(3, (("user", 4), ("assistant", 2))) == (Item("user", 0, 3),)


def test_last_is_a_question_and_later_system_text_speaks_as_the_user() -> None:
    assert items_of(6, (("user", 2), ("system", 2), ("assistant", 2))) == (Item("user", 0, 6),)
    assert items_of(5, (("system", 5),)) == (Item("user", 0, 5),)


def test_half_a_pair_is_text() -> None:
    assert kinds([("user", 1), ("tool_call", 1), ("user", 1)]) == ["user", "assistant", "user"]
    assert kinds([("tool_result", 1), ("assistant", 1), ("user", 1)]) == ["user", "assistant", "user"]
    assert kinds([("user", 1), ("tool_call", 1), ("assistant", 1), ("tool_result", 1)]) == ["user", "assistant", "user"]
    assert items_of(4, (("user", 1), ("tool_call", 1), ("tool_call", 1), ("tool_result", 1))) == (
        Item("user", 0, 1),
        Item("call", 1, 3, 1),
        Item("result", 3, 4, 1),
    )


def test_text_between_results_does_not_part_them_from_their_calls() -> None:
    roles: list[Role] = ["user", "tool_call", "tool_call", "tool_result", "reminder", "tool_result"]
    items = items_of(6, tuple((role, 1) for role in roles))
    assert [(item.kind, item.call) for item in items] == [
        ("user", 0),
        ("call", 1),
        ("call", 2),
        ("result", 1),
        ("user", 0),
        ("result", 2),
    ]


def test_kinds_the_server_refuses_go_out_as_text() -> None:
    roles: list[Role] = ["system", "user", "tool_call", "tool_result"]
    refused: frozenset[Kind] = frozenset({"system", "call", "result"})
    assert kinds([(role, 1) for role in roles], refused) == ["user", "assistant", "user"]


@given(tokens=st.integers(1, 150), segments=SEGMENTS)
def test_items_cover_the_prompt_exactly_whatever_the_segments_say(
    tokens: int, segments: list[tuple[Role, int]]
) -> None:
    items = items_of(tokens, tuple(segments))
    assert [item.start for item in items] == [0, *(item.stop for item in items[:-1])]
    assert items[-1].stop == tokens
    assert all(item.stop > item.start for item in items)
    assert items[-1].kind in ("user", "result")
    assert sorted(item.call for item in items if item.kind == "call") == sorted(
        item.call for item in items if item.kind == "result"
    )


def test_kinds_of_sessions_are_those_of_their_segments() -> None:
    known = session_of([Asked(0, 1, (1,), segments=(("tools", 20), ("tool_call", 44)))])
    assert kinds_in([known, session_of([Asked(0, 1, (1,))])]) == {"system", "call"}


@given(segments=SEGMENTS, takes_system=st.booleans())
def test_for_a_server_that_takes_no_calls_user_and_assistant_alternate(
    segments: list[tuple[Role, int]], takes_system: bool
) -> None:
    refused: frozenset[Kind] = frozenset({"call", "result"})
    if not takes_system:
        refused = frozenset({"call", "result", "system"})
    found = kinds([*segments, ("user", 1)], refused, user_opens=True)
    spoken = found[1:] if found[0] == "system" else found
    assert spoken == (["user", "assistant"] * len(spoken))[: len(spoken)]
    assert takes_system or found[0] == "user"


def test_what_the_assistant_says_first_is_the_users_where_the_user_must_open() -> None:
    segments: list[tuple[Role, int]] = [("system", 1), ("assistant", 1), ("tool_call", 1), ("tool_result", 1)]
    later: list[tuple[Role, int]] = [("assistant", 1), ("tool_call", 1), ("tool_result", 1)]
    assert kinds([*segments, *later]) == ["system", "assistant", "call", "result", "assistant", "call", "result"]
    assert kinds([*segments, *later], user_opens=True) == ["system", "user", "assistant", "call", "result"]


def test_for_a_server_that_takes_the_user_alone_all_is_one_message() -> None:
    refused: frozenset[Kind] = frozenset({"system", "assistant", "call", "result"})
    assert kinds([("system", 1), ("user", 1), ("assistant", 1), ("tool_call", 1), ("tool_result", 1)], refused) == [
        "user"
    ]
