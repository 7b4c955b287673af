from __future__ import annotations

from dagbuild.agentx.branches import Child, branches_of, is_dropped
from dagbuild.agentx.entries import Call

MAIN = [Call(n, place, start_s, 1.0, 0, 1, 64, 1) for n, (place, start_s) in enumerate([(0, 0), (3, 6), (5, 20)])]


def child(place: int, end_s: float, name: str = "b", start_s: float = 1) -> Child:
    return Child(place, start_s, end_s, name, (name,))


def test_a_child_starts_with_the_turn_before_it_and_joins_the_first_that_starts_when_it_ended() -> None:
    found = branches_of([child(1, 6.0), child(1, 6.1), child(4, 7.0), child(1, 20.5)], MAIN)
    assert [(branch.spawn, branch.join) for branch in found] == [(0, 1), (0, 2), (1, 2), (0, None)]


def test_children_with_the_same_start_and_join_are_one_branch_named_after_the_first() -> None:
    found = branches_of([child(1, 4, "first", 2), child(4, 9, "other"), child(2, 5, "second", 1)], MAIN)
    assert [(branch.name, branch.streams, branch.start_s) for branch in found] == [
        ("first", ("first", "second"), 1),
        ("other", ("other",), 1),
    ]


def test_a_child_before_every_turn_starts_with_the_first() -> None:
    assert branches_of([child(-1, 3)], MAIN)[0].spawn == 0
    assert is_dropped(-1, MAIN)
    assert not is_dropped(1, MAIN)
