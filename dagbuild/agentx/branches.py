"""Where the streams of a session start and join: children with the same start and the same join form one branch.

A branch starts with the last main turn that stands before it in the file and joins the first later main turn of the
file that starts when the child has ended, one-offs included. A declared sub-agent before every main turn is dropped; a
chain found there starts with the first turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dagbuild.agentx.entries import EPSILON_S, Call


@dataclass(frozen=True, slots=True)
class Child:
    place: int
    start_s: float
    end_s: float
    name: str  # that a branch gets from its first child
    streams: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    name: str
    spawn: int  # main turn
    join: int | None  # main turn; None: nobody waits
    streams: tuple[str, ...]
    start_s: float


def is_dropped(place: int, main: Sequence[Call]) -> bool:
    """Whether a declared sub-agent has no main turn before it in the file."""
    return not any(call.place < place for call in main)


def branches_of(children: Iterable[Child], main: Sequence[Call]) -> list[Branch]:
    """In order of the first child of each."""
    in_file = sorted((call.place, turn, call.start_s) for turn, call in enumerate(main))
    groups: dict[tuple[int, int | None], list[Child]] = {}
    for child in children:
        spawn = max((turn for place, turn, _ in in_file if place < child.place), default=0)
        join = next(
            (turn for place, turn, at_s in in_file if place > child.place and at_s + EPSILON_S >= child.end_s), None
        )
        groups.setdefault((spawn, join), []).append(child)
    return [
        Branch(
            name=members[0].name,
            spawn=spawn,
            join=join,
            streams=tuple(stream for child in members for stream in child.streams),
            start_s=min(child.start_s for child in members),
        )
        for (spawn, join), members in groups.items()
    ]
