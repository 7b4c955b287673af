"""Which data-parallel rank a request goes to, when each rank has a cache of its own.

| routing | a request goes to |
|---|---|
| round-robin | the next rank in turn |
| session | the rank of its session; a new session goes where the fewest live sessions are |
| prefix | the rank that would serve most of its prompt; among equals, where the fewest tokens were computed |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, assert_never

Routing = Literal["round-robin", "session", "prefix"]


class Router:
    """Asked for every request in order, then told what came of it."""

    def __init__(self, routing: Routing, ranks: int) -> None:
        self._routing = routing
        self._turn = 0
        self._computed = [0] * ranks
        self._live = [0] * ranks
        self._home: dict[int, int] = {}

    def choose(self, session: int, served: Sequence[int]) -> int:
        """`served`: tokens that each rank would serve; only looked at by `prefix`."""
        if len(self._computed) == 1:
            return 0
        match self._routing:
            case "round-robin":
                self._turn += 1
                return (self._turn - 1) % len(self._computed)
            case "session":
                if session not in self._home:
                    self._home[session] = self._live.index(min(self._live))
                    self._live[self._home[session]] += 1
                return self._home[session]
            case "prefix":
                ranks = range(len(self._computed))
                return min(ranks, key=lambda rank: (-served[rank], self._computed[rank]))
            case _ as never:
                assert_never(never)

    def sent(self, rank: int, computed_tokens: int) -> None:
        self._computed[rank] += computed_tokens

    def over(self, session: int) -> None:
        if session in self._home:
            self._live[self._home.pop(session)] -= 1
