from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from corpus.session import Session
from replay.bodies import Bodies
from replay.commands import ScheduleRules, Send
from replay.connection import Clock, Connection
from replay.content import Material
from replay.content_pool import build_pool
from replay.driver import Driver, Keep, rest
from replay.endpoints import ENDPOINTS
from replay.plan import PlanRules, plan_session
from replay.schedule import Scheduler
from replay.settings import ReplaySettings
from replay.transport import Outcome, Transport
from tests.replay.loopback import Server, hang, refusal, serving
from tests.replay.rehearsal import Asked, WordTokenizer, edge, session_of

CHAIN = session_of(
    [Asked(0, 1, (1,)), Asked(2, 3, (1, 2)), Asked(4, 5, (1, 2, 3)), Asked(4.5, 6, (9,))],
    [edge(0, 1, 1), edge(1, 2, 1), edge(2, 3, 0.5, anchor="start", kind="aux")],
)


class Kept(list[tuple[Send, Outcome]]):
    """What the driver kept, in the order of its ending."""

    driver: Driver

    @property
    def errors(self) -> list[str | None]:
        return [outcome.error for _, outcome in self]


async def driven(
    server: Server,
    sessions: Sequence[Session],
    lanes: int = 1,
    duration_us: int = 60_000_000,
    timeout_s: float = 30,
    keep: Keep | None = None,
) -> Kept:
    endpoint = ENDPOINTS["completions"]
    settings = ReplaySettings("http://h:1", "m", Path("run"), "words")
    plans = [plan_session(session, PlanRules(300_000_000, 50, None)) for session in sessions]
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(serving(server))
        clock = Clock()
        transport = Transport(server.url, endpoint, {}, timeout_s, clock)
        await stack.enter_async_context(transport)
        material = Material(build_pool(WordTokenizer()), "ids")
        bodies = Bodies({session.session: session for session in sessions}, material, endpoint, settings)
        kept = Kept()
        scheduler = Scheduler(plans, ScheduleRules(lanes, "none", duration_us, 1))
        kept.driver = Driver(scheduler, transport, bodies, clock, keep or (lambda *over: kept.append(over)))
        await kept.driver.run()
    if not any(outcome.end_us is None for _, outcome in kept):
        assert bodies._held_bytes == 0
    return kept


async def test_every_request_is_sent_with_its_own_prompt() -> None:
    server = Server()
    kept = await driven(server, [CHAIN])
    assert [send.request.request for send, _ in kept] == [0, 1, 2, 3]
    assert [len(body["prompt"]) for body in server.bodies] == [64, 128, 192, 64]
    assert server.bodies[1]["prompt"][:64] == server.bodies[0]["prompt"]
    assert kept.errors == [None] * 4
    assert (kept.driver.in_flight, kept.driver.interrupted) == (0, False)


async def test_what_an_answer_sets_free_is_sent_before_the_answer_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    ask = Connection.ask

    def noted(self: Connection, *asked: Any) -> asyncio.Future[int]:
        order.append("sent")
        return ask(self, *asked)

    monkeypatch.setattr(Connection, "ask", noted)
    at_once = session_of([Asked(0, 1, (1,)), Asked(1, 2, (1, 2))], [edge(0, 1, 0)])
    await driven(Server(), [at_once], keep=lambda *_: order.append("kept"))
    assert order == ["sent", "sent", "kept", "kept"]


@pytest.mark.parametrize(("slept_us", "rests"), [(10_100, 1), (40_000, 10)])
async def test_a_busy_loop_is_left_alone_for_a_while(
    monkeypatch: pytest.MonkeyPatch, slept_us: int, rests: int
) -> None:
    moments, slept = count(0, slept_us), list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(Clock, "now_us", lambda _self: next(moments))
    monkeypatch.setattr(asyncio, "sleep", sleep)
    await rest(Clock())
    assert slept == [0.01] * rests


async def test_failed_requests_set_their_successors_free() -> None:
    async def refuse(*_: object) -> object:
        return refusal(500, "no")

    kept = await driven(Server(misbehave=refuse), [CHAIN])  # type: ignore[arg-type]  # looser than it must be
    assert kept.errors == ["http_5xx"] * 4


async def test_run_over_its_duration_cuts_what_is_in_flight() -> None:
    kept = await driven(Server(misbehave=hang), [CHAIN], duration_us=200_000)
    ((_, outcome),) = kept
    assert outcome.sent_us is not None
    assert outcome.end_us is None
    assert kept.driver.in_flight == 0


async def test_server_that_hangs_does_not_hang_the_run() -> None:
    kept = await driven(Server(misbehave=hang), [session_of([Asked(0, 1, (1,))])], timeout_s=0.2)
    assert kept.errors == ["timeout"]


async def test_row_that_cannot_be_kept_ends_the_run_with_its_reason() -> None:
    def full(_send: Send, _outcome: Outcome) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        await driven(Server(), [CHAIN], keep=full)


async def test_stop_ends_the_run_and_keeps_the_log() -> None:
    drivers: list[Driver] = []
    kept: list[tuple[Send, Outcome]] = []

    async def stop(*_: object) -> None:
        drivers[0].stop()

    endpoint = ENDPOINTS["completions"]
    plan = plan_session(CHAIN, PlanRules(300_000_000, 50, None))
    async with serving(Server(misbehave=stop)) as server, Transport(server.url, endpoint, {}, 9, Clock()) as transport:
        settings = ReplaySettings("http://h:1", "m", Path("run"), "words")
        bodies = Bodies({0: CHAIN}, Material(build_pool(WordTokenizer()), "ids"), endpoint, settings)
        drivers.append(
            Driver(
                Scheduler([plan], ScheduleRules(1, "none", 60_000_000, 1)),
                transport,
                bodies,
                Clock(),
                lambda *over: kept.append(over),
            )
        )
        await drivers[0].run()
    assert drivers[0].interrupted
    assert len(kept) == 1
    assert drivers[0].end_us is not None
