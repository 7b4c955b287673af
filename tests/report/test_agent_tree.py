from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from report.agent_tree import agent_tree


def test_children_stand_below_their_parent_and_unknown_parents_below_main() -> None:
    assert list(agent_tree([None, 0, None, 1])) == [(0, 0), (1, 1), (2, 3), (1, 2)]
    assert list(agent_tree([])) == []


@given(st.lists(st.none() | st.integers(0, 50), max_size=20))
def test_every_agent_appears_once(drawn: list[int | None]) -> None:
    parents = [None if parent is None else parent % max(1, agent) for agent, parent in enumerate(drawn)]
    assert sorted(agent for _, agent in agent_tree(parents)) == list(range(len(parents)))
