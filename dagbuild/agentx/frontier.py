"""What else a request waits for: of every other stream the latest request that had ended when it started.

Only streams of one scope are compared: main with the chains found in it, and each declared sub-agent with those found
in that one. A request that another one of the frontier waited for is left out. Equal starts are unordered, an end that
touches the start is over, an unknown duration is none.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dagbuild.agentx.entries import Call

Turn = tuple[str, int]  # stream, number of the turn


class _Ended(NamedTuple):
    end_ms: float
    start_ms: float
    turn: Turn


def frontier(streams: Mapping[str, Sequence[Call]]) -> dict[Turn, list[Turn]]:
    """The streams of one scope; what each turn waits for beside its own stream, sorted."""
    ended = {name: sorted(_ended(name, calls)) for name, calls in streams.items()}
    return {
        (name, number): _waits_for(call.start_s * 1000.0, [ended[other] for other in streams if other != name])
        for name, calls in streams.items()
        for number, call in enumerate(calls)
    }


def _ended(name: str, calls: Sequence[Call]) -> list[_Ended]:
    return [
        _Ended(call.start_s * 1000.0 + (call.api_s or 0.0) * 1000.0, call.start_s * 1000.0, (name, number))
        for number, call in enumerate(calls)
    ]


def _waits_for(start_ms: float, others: Sequence[Sequence[_Ended]]) -> list[Turn]:
    latest = [found for other in others if (found := _latest(start_ms, other))]
    return sorted(
        one.turn
        for one in latest
        if not any(one.start_ms < later.start_ms and one.end_ms <= later.start_ms for later in latest)
    )


def _latest(start_ms: float, ended: Sequence[_Ended]) -> _Ended | None:
    """The last one to end, of those that began before."""
    index = bisect_right(ended, start_ms, key=lambda one: one.end_ms)
    while index and ended[index - 1].start_ms >= start_ms:  # took no time and began just then
        index -= 1
    return ended[index - 1] if index else None
