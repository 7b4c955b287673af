from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from corpus.session import Session
from replay.bodies import Bodies
from replay.commands import ScheduleRules
from replay.connection import Clock
from replay.content import alphabet_of, build_pool
from replay.driver import Driver
from replay.endpoints import ENDPOINTS
from replay.plan import PlanRules, plan_session
from replay.schedule import Scheduler
from replay.settings import ReplaySettings
from replay.transport import Transport
from tests.replay.loopback import Server, hang, refusal, serving
from tests.replay.rehearsal import Asked, WordTokenizer, edge, session_of

CHAIN = session_of(
    [Asked(0, 1, (1,)), Asked(2, 3, (1, 2)), Asked(4, 5, (1, 2, 3)), Asked(4.5, 6, (9,))],
    [edge(0, 1, 1), edge(1, 2, 1), edge(2, 3, 0.5, anchor="start", kind="aux")],
)


async def driven(
    server: Server, sessions: Sequence[Session], lanes: int = 1, duration_us: int = 60_000_000, timeout_s: float = 30
) -> Driver:
    endpoint = ENDPOINTS["completions"]
    settings = ReplaySettings("http://h:1", "m", Path("run"), "words")
    plans = [plan_session(session, PlanRules(300_000_000, 50, None)) for session in sessions]
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(serving(server))
        clock = Clock()
        transport = Transport(server.url, endpoint, {}, timeout_s, clock)
        await stack.enter_async_context(transport)
        alphabet = alphabet_of(build_pool(WordTokenizer()), "ids")
        bodies = Bodies({session.session: session for session in sessions}, alphabet, endpoint, settings)
        driver = Driver(Scheduler(plans, ScheduleRules(lanes, "none", duration_us, 1)), transport, bodies, clock)
        await driver.run()
    if not any(outcome.end_us is None for _, outcome in driver.log):
        assert bodies._prompts == {}
    return driver


async def test_every_request_is_sent_with_its_own_prompt() -> None:
    server = Server()
    driver = await driven(server, [CHAIN])
    assert [send.request.request for send, _ in driver.log] == [0, 1, 2, 3]
    assert [len(body["prompt"]) for body in server.bodies] == [64, 128, 192, 64]
    assert server.bodies[1]["prompt"][:64] == server.bodies[0]["prompt"]
    assert all(outcome.error is None for _, outcome in driver.log)
    assert (driver.ended, driver.errors, driver.in_flight, driver.interrupted) == (4, 0, 0, False)


async def test_failed_requests_set_their_successors_free() -> None:
    async def refuse(*_: object) -> object:
        return refusal(500, "no")

    driver = await driven(Server(misbehave=refuse), [CHAIN])  # type: ignore[arg-type]  # looser than it must be
    assert [outcome.error for _, outcome in driver.log] == ["http_5xx"] * 4
    assert driver.errors == 4


async def test_run_over_its_duration_cuts_what_is_in_flight() -> None:
    driver = await driven(Server(misbehave=hang), [CHAIN], duration_us=200_000)
    ((_, outcome),) = driver.log
    assert outcome.sent_us is not None
    assert outcome.end_us is None
    assert driver.in_flight == 0


async def test_server_that_hangs_does_not_hang_the_run() -> None:
    driver = await driven(Server(misbehave=hang), [session_of([Asked(0, 1, (1,))])], timeout_s=0.2)
    assert [outcome.error for _, outcome in driver.log] == ["timeout"]


async def test_stop_ends_the_run_and_keeps_the_log() -> None:
    drivers: list[Driver] = []

    async def stop(*_: object) -> None:
        drivers[0].stop()

    endpoint = ENDPOINTS["completions"]
    plan = plan_session(CHAIN, PlanRules(300_000_000, 50, None))
    async with serving(Server(misbehave=stop)) as server, Transport(server.url, endpoint, {}, 9, Clock()) as transport:
        settings = ReplaySettings("http://h:1", "m", Path("run"), "words")
        bodies = Bodies({0: CHAIN}, alphabet_of(build_pool(WordTokenizer()), "ids"), endpoint, settings)
        drivers.append(Driver(Scheduler([plan], ScheduleRules(1, "none", 60_000_000, 1)), transport, bodies, Clock()))
        await drivers[0].run()
    assert drivers[0].interrupted
    assert len(drivers[0].log) == 1
    assert drivers[0].end_us is not None
