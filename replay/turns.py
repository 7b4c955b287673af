"""Turns at long work that many tasks have at once: one step a round of the event loop, the shortest work first.

Taking steps by turns would end all of it at the same late moment; this way the first is over soon, and each after it as
soon as it can be. In between, the loop does everything else.
"""

from __future__ import annotations

import asyncio
from heapq import heappop, heappush
from itertools import count


class Turns:
    """For one event loop."""

    def __init__(self) -> None:
        self._waiting: list[tuple[bool, int, int, asyncio.Future[None]]] = []
        self._order = count()
        self._is_calling = False

    async def wait(self, left: int, *, ahead: bool) -> None:
        """Before each step; `left`: of the work, in any unit that all have; `ahead`: of its time, so it can wait."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        heappush(self._waiting, (ahead, left, next(self._order), turn))
        if not self._is_calling:
            self._is_calling = True
            loop.call_soon(self._call)
        await turn

    def _call(self) -> None:
        """Whoever is next; after the step of the one before, who may be next again."""
        turn = None
        while self._waiting and (turn is None or turn.done()):  # cancelled
            *_, turn = heappop(self._waiting)
        if turn is not None and not turn.done():
            turn.set_result(None)
        self._is_calling = bool(self._waiting) or turn is not None
        if self._is_calling:
            asyncio.get_running_loop().call_soon(self._call)
