"""Agents in reading order: each below its parent, siblings by number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def agent_tree(parents: Sequence[int | None]) -> Iterator[tuple[int, int]]:
    """(depth, agent) for agents 0, 1, ...; 0 is main, and one whose parent is unknown stands below it."""
    children: dict[int, list[int]] = {}
    for agent, parent in enumerate(parents):
        if agent:
            children.setdefault(0 if parent is None else parent, []).append(agent)
    waiting = [(0, 0)] if parents else []
    while waiting:
        depth, agent = waiting.pop()
        yield depth, agent
        waiting += [(depth + 1, child) for child in reversed(children.get(agent, []))]
