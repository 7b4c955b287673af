"""The shell around the scheduler: a clock, one task per request in flight, and waking up on time.

The event loop sleeps in whole milliseconds, so the driver wakes a little early and yields until a request is due. When
the schedule is done or somebody stops it, what is in flight is cut and kept in the log as far as it came.
"""

from __future__ import annotations

import asyncio
from typing import Final

from replay.bodies import Bodies
from replay.commands import Done, Ended, Event, Send, Started, Tick, WaitUntil
from replay.connection import Clock
from replay.schedule import Scheduler
from replay.transport import Outcome, Transport

_EARLY_US: Final = 1_500
_HORIZON_US: Final = 2_000_000  # prompts of what is due by then are prepared
_LOOK_AGAIN_S: Final = 1.0


class Driver:
    """`run` once; `log` then holds every request with what became of it, in the order of the scheduler's commands."""

    def __init__(self, scheduler: Scheduler, transport: Transport, bodies: Bodies, clock: Clock) -> None:
        self._scheduler = scheduler
        self._transport = transport
        self._bodies = bodies
        self._clock = clock
        self._wake_at_us: int | None = None
        self._over = False
        self._changed = asyncio.Event()
        self._news = asyncio.Event()  # something new may be prepared
        self._in_flight: set[asyncio.Task[None]] = set()
        self.log: list[tuple[Send, Outcome]] = []
        self.ended = 0
        self.errors = 0
        self.end_us: int | None = None
        self.interrupted = False
        self.done: Done | None = None  # None: somebody stopped the run before its schedule was over

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    def stop(self) -> None:
        """Somebody wants the run to end now."""
        self.interrupted = True
        self._finish()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            self._group = group
            preparing = group.create_task(self._prepare())
            self._apply(Tick(self._clock.now_us()))
            while not self._over:
                await self._pause()
                if self._is_due():
                    self._apply(Tick(self._clock.now_us()))
            preparing.cancel()
            for task in self._in_flight:
                task.cancel()

    def _apply(self, event: Event) -> None:
        if self._over:
            return
        for command in self._scheduler.handle(event):
            match command:
                case Send():
                    self._launch(command)
                case WaitUntil(at_us):
                    self._wake_at_us = at_us
                    self._changed.set()
                case Done():
                    self.done = command
                    self._finish()
        self._news.set()

    def _finish(self) -> None:
        self._over = True
        self.end_us = self.end_us if self.end_us is not None else self._clock.now_us()
        self._changed.set()

    def _launch(self, send: Send) -> None:
        outcome = Outcome()
        self.log.append((send, outcome))
        task = self._group.create_task(self._exchange(send, outcome))
        self._in_flight.add(task)
        task.add_done_callback(self._in_flight.discard)

    async def _exchange(self, send: Send, outcome: Outcome) -> None:
        play, request = send.play, send.request.request
        body = await self._bodies.body(send)
        await self._transport.send(body, outcome, lambda at_us: self._apply(Started(play, request, at_us)))
        self.ended += 1
        self.errors += outcome.error is not None
        self._apply(Ended(play, request, outcome.end_us or 0, outcome.error))
        if not self._scheduler.is_live(play):
            self._bodies.forget(play)

    def _is_due(self) -> bool:
        return self._wake_at_us is not None and self._clock.now_us() >= self._wake_at_us

    async def _pause(self) -> None:
        """Until the next moment, or until something changed; may return early."""
        left_us = None if self._wake_at_us is None else self._wake_at_us - self._clock.now_us()
        if left_us is not None and left_us <= _EARLY_US:
            await asyncio.sleep(0)
            return
        self._changed.clear()
        try:
            async with asyncio.timeout(None if left_us is None else (left_us - _EARLY_US) / 1e6):
                await self._changed.wait()
        except TimeoutError:
            return

    async def _prepare(self) -> None:
        while True:
            self._news.clear()
            for play, session, request in self._scheduler.upcoming(self._clock.now_us(), _HORIZON_US):
                if self._scheduler.is_live(play):
                    await self._bodies.prepare(play, session, request)
            try:
                async with asyncio.timeout(_LOOK_AGAIN_S):
                    await self._news.wait()
            except TimeoutError:
                continue
