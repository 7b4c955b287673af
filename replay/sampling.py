"""Which session a play is of: a function of the play's number alone, so contents never depend on timing.

| sampling   | order                                                                |
|------------|----------------------------------------------------------------------|
| sequential | as they stand in the source, over and over                           |
| shuffled   | every session once a pass, each pass in an order of its own          |
| random     | each time any of them, so one may come again before another came once |

Orders follow from digests of seed and numbers: the same on every machine, whatever the versions of its libraries.
"""

from __future__ import annotations

import hashlib
from typing import Literal

Sampling = Literal["sequential", "shuffled", "random"]


class Sampler:
    def __init__(self, sampling: Sampling, seed: int, sessions: int) -> None:
        self._sampling = sampling
        self._seed = seed
        self._sessions = sessions
        self._pass: tuple[int, list[int]] = (-1, [])

    def session(self, play: int) -> int:
        """Index of the session, from 0."""
        turn, place = divmod(play, self._sessions)
        if self._sampling == "sequential":
            return place
        if self._sampling == "random":
            return self._digest(f"play {play}") % self._sessions
        if self._pass[0] != turn:
            order = sorted(range(self._sessions), key=lambda index: (self._digest(f"pass {turn}:{index}"), index))
            self._pass = (turn, order)
        return self._pass[1][place]

    def _digest(self, what: str) -> int:
        return int.from_bytes(hashlib.blake2b(f"{self._seed}:{what}".encode(), digest_size=8).digest())
