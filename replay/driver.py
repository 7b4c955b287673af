"""The shell around the scheduler: a clock, one task per request in flight, and waking up on time.

The event loop sleeps in whole milliseconds, so the driver wakes a little early: the scheduler is asked as if it were
time, the body is put together, and then the loop yields until the request is due. Nothing is ever sent early. What the
end of an answer sets free goes out in the same round of the loop, before that answer is kept: tasks start at once, not
when it is their turn. When the schedule is done or somebody stops it, what is in flight is cut and kept as far as it
came.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from replay.bodies import Bodies
from replay.commands import Command, Done, Ended, Event, Proceed, Send, StageOver, Started, Tick, WaitUntil
from replay.connection import Clock
from replay.schedule import Scheduler
from replay.transport import Outcome, Transport

_EARLY_US: Final = 1_500
_HORIZON_US: Final = 2_000_000  # prompts of what is due by then are prepared
_LOOK_AGAIN_S: Final = 1.0
_REST_S: Final = 0.01  # news of many requests are looked at together
_BUSY_S: Final = 0.005  # a rest that takes so much longer: the loop has requests to see to
_MOST_RESTS: Final = 10
_MOST_WARM: Final = 64  # connections opened ahead

Keep = Callable[[Send, Outcome], None]


class Driver:
    """`run` once; `keep` hears of every request when it is over, and of those that were cut.

    `on_stage` hears when these lanes are through with a stage of warm-up; `proceed` then begins the next one.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        transport: Transport,
        bodies: Bodies,
        clock: Clock,
        keep: Keep,
        on_stage: Callable[[str], None] = lambda _stage: None,
    ) -> None:
        self._scheduler = scheduler
        self._transport = transport
        self._bodies = bodies
        self._clock = clock
        self._keep = keep
        self._on_stage = on_stage
        self._stage_told: str | None = None
        self._events: deque[Event] = deque()  # the first is being worked through
        self._wake_at_us: int | None = None
        self._over = False
        self._changed = asyncio.Event()
        self._news = asyncio.Event()  # something new may be prepared
        self._in_flight: set[asyncio.Task[None]] = set()
        self._problem: OSError | None = None
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

    def proceed(self, at_us: int) -> None:
        """All workers are through with the stage."""
        self._apply(Proceed(at_us))

    async def run(self) -> None:
        """OSError when a row could not be kept."""
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        async with asyncio.TaskGroup() as group:
            self._group = group
            preparing = group.create_task(self._prepare())
            self._apply(Tick(self._clock.now_us()))
            while not self._over:
                await self._pause()
                if self._wake_at_us is not None and self._clock.now_us() >= self._wake_at_us - _EARLY_US:
                    self._apply(Tick(max(self._wake_at_us, self._clock.now_us())))
            preparing.cancel()
            for task in self._in_flight:
                task.cancel()
        if self._problem is not None:
            raise self._problem

    def _apply(self, event: Event) -> None:
        """A request that is launched may start before this is through: its event waits."""
        self._events.append(event)
        if len(self._events) > 1:
            return
        while self._events:
            if not self._over:
                self._obey(self._scheduler.handle(self._events[0]))
            self._events.popleft()
        self._news.set()

    def _obey(self, commands: Iterable[Command]) -> None:
        for command in commands:
            match command:
                case Send():
                    self._launch(command)
                case WaitUntil(at_us):
                    if at_us != self._wake_at_us:
                        self._wake_at_us = at_us
                        self._changed.set()
                case StageOver(stage):
                    self._wake_at_us = None
                    if stage != self._stage_told:
                        self._stage_told = stage
                        self._on_stage(stage)
                case Done():
                    self.done = command
                    self._finish()

    def _finish(self) -> None:
        self._over = True
        self.end_us = self.end_us if self.end_us is not None else self._clock.now_us()
        self._changed.set()

    def _launch(self, send: Send) -> None:
        outcome = Outcome()
        task = self._group.create_task(self._exchange(send, outcome))
        self._in_flight.add(task)
        task.add_done_callback(lambda task: self._landed(task, send, outcome))

    def _landed(self, task: asyncio.Task[None], send: Send, outcome: Outcome) -> None:
        """Also of a task that was cut."""
        self._in_flight.discard(task)
        if not self._scheduler.is_live(send.play):
            self._bodies.forget(send.play)
        try:
            self._keep(send, outcome)
        except OSError as error:
            self._problem = error
            self._finish()

    async def _exchange(self, send: Send, outcome: Outcome) -> None:
        play, request = send.play, send.request.request
        body = await self._bodies.body(send)
        await self._until(send.due_us)
        await self._transport.send(
            body, outcome, lambda at_us: self._apply(Started(play, request, at_us)), self._bodies.headers(send)
        )
        self._apply(Ended(play, request, outcome.end_us or 0, outcome.error))

    async def _until(self, at_us: int) -> None:
        """Never early, and late by a round of the event loop."""
        while (left_us := at_us - self._clock.now_us()) > 0:  # noqa: ASYNC110 - only the clock can end it
            await asyncio.sleep(max(0, left_us - _EARLY_US) / 1e6)

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
        """Prompts and connections of what is due soon."""
        warming: asyncio.Task[None] | None = None
        while True:
            self._news.clear()
            upcoming = self._scheduler.upcoming(self._clock.now_us(), _HORIZON_US)
            if upcoming and (warming is None or warming.done()):
                warming = self._group.create_task(self._transport.warm(min(len(upcoming), _MOST_WARM)))
            known = [*upcoming, *self._scheduler.openings()]
            await self._bodies.prepare(one for one in known if not self._scheduler.is_over(one[0]))
            await rest(self._clock)
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_AGAIN_S):
                    await self._news.wait()


async def rest(clock: Clock) -> None:
    """While requests keep the loop busy, they go first: what is prepared is enough for a while."""
    for _ in range(_MOST_RESTS):
        began_us = clock.now_us()
        await asyncio.sleep(_REST_S)
        if clock.now_us() - began_us < (_REST_S + _BUSY_S) * 1e6:
            return
