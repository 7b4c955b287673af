"""A schedule played through without a clock or a server: virtual time, and answers that take as long as somebody says.

For `--dry-run`, which takes the recorded durations, and for the tests of the method.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Final

from corpus.run import ErrorClass
from replay.commands import Done, Ended, Event, Send, Started, Tick, WaitUntil
from replay.schedule import Scheduler

# What an answer takes where no recording says: a plausible server, so that a rehearsal gets on.
_FIRST_TOKEN_US: Final = 200_000
_TOKEN_US: Final = 20_000


@dataclass(frozen=True, slots=True)
class Answer:
    """From sending to the end of the answer."""

    took_us: int
    error: ErrorClass | None = None


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """`ended_us` and `error` None: still in flight at the end."""

    send: Send
    started_us: int
    ended_us: int | None
    error: ErrorClass | None


@dataclass(frozen=True, slots=True)
class Finished:
    at_us: int
    done: Done


def rehearse(
    scheduler: Scheduler, answer: Callable[[Send], Answer], sending_us: Callable[[Send], int] = lambda _send: 0
) -> Iterator[Rehearsed | Finished]:
    """Requests as they end, then those still in flight by the order of sending, then how it finished."""
    order = count()
    events: list[tuple[int, int, Event]] = []
    wake_us: int | None = 0
    event: Event
    sent: dict[tuple[int, int], tuple[Send, int]] = {}
    while True:
        if wake_us is not None and (not events or wake_us < events[0][0]):
            now, event = wake_us, Tick(wake_us)
        else:
            now, _, event = heapq.heappop(events)
        if isinstance(event, Ended):
            yield Rehearsed(*sent.pop((event.play, event.request)), now, event.error)
        for command in scheduler.handle(event):
            match command:
                case Send():
                    key, started = (command.play, command.request.request), now + sending_us(command)
                    sent[key] = (command, started)
                    found = answer(command)
                    heapq.heappush(events, (started, next(order), Started(*key, started)))
                    ended = started + found.took_us
                    heapq.heappush(events, (ended, next(order), Ended(*key, ended, found.error)))
                case WaitUntil(at_us):
                    wake_us = None if at_us is None else max(at_us, now)
                case Done():
                    yield from (Rehearsed(*found, None, None) for found in sent.values())
                    yield Finished(now, command)
                    return


def as_recorded(send: Send) -> Answer:
    """Profiling as long as recorded; warm-up answers at their first token."""
    request = send.request
    if send.phase == "warmup":
        return Answer(_FIRST_TOKEN_US)
    if request.recorded_end_us is None:
        return Answer(_FIRST_TOKEN_US + _TOKEN_US * request.output_tokens)
    return Answer(request.recorded_end_us - request.recorded_start_us)
