"""A replay from sessions to a run directory: plan, look at the server, drive, judge, write.

The only entry of the room. Bad settings, a server that is not there or refuses the model, and an output that exists are
one-line errors before anything is sent. Ctrl-C (or SIGTERM) cuts what is in flight and writes the run as it stands.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from corpus.errors import InputError
from corpus.run import SentRequest, refuse_existing_run, write_run
from corpus.session import Session
from corpus.tokenizer import load_tokenizer
from replay.bodies import Bodies
from replay.commands import ScheduleRules, Send
from replay.connection import Clock
from replay.content import Alphabet, alphabet_of, build_pool
from replay.driver import Driver
from replay.endpoints import ENDPOINTS, chat_body, completion_body
from replay.plan import PlanRules, SessionPlan, count_dropped, plan_session
from replay.prediction import with_predictions
from replay.schedule import Scheduler
from replay.settings import Progress, ReplaySettings, check_settings, describe
from replay.summary import RunFacts, summarise
from replay.transport import Outcome, Transport

_REPORT_EVERY_S: Final = 0.5
_PREFLIGHT_TOKENS: Final = 8
_PREFLIGHT_TIMEOUT_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class _Driven:
    log: list[tuple[Send, Outcome]]
    profile_start_us: int | None
    end_us: int | None
    completed_plays: frozenset[int]
    cpu_s: float
    interrupted: bool


def run_replay(
    sessions: Sequence[Session], settings: ReplaySettings, progress: Callable[[Progress], None]
) -> dict[str, Any]:
    """Blocks until the run is over and written to `settings.out`; returns its summary.

    `progress` is called twice a second. Raises InputError for what a person can put right.
    """
    check_settings(settings)
    refuse_existing_run(settings.out, force=settings.force)
    by_number = {session.session: session for session in sessions}
    if len(by_number) < len(sessions):
        raise InputError("sessions", "two of them have the same number", "convert them into one corpus first")
    plans = plan_sessions(sessions, settings)
    alphabet = alphabet_of(build_pool(load_tokenizer(settings.tokenizer)), ENDPOINTS[settings.endpoint].form)
    driven = asyncio.run(_drive(by_number, plans, alphabet, settings, progress))
    rows = with_predictions(_rows(driven.log), by_number.__getitem__)
    facts = RunFacts(
        profile_start_us=driven.profile_start_us,
        profile_end_us=driven.end_us,
        completed_plays=driven.completed_plays,
        dropped=count_dropped(plans),
        corpus_requests=sum(plan.total for plan in plans),
        client_cpu_s=driven.cpu_s,
        interrupted=driven.interrupted,
    )
    config = describe(settings)
    decided = {name: config[name] for name in ("corpus_fingerprint", "seed", "version")}
    summary = {**summarise(rows, facts), **decided}
    write_run(settings.out, config, rows, summary, force=settings.force)
    return summary


def plan_sessions(sessions: Sequence[Session], settings: ReplaySettings) -> list[SessionPlan]:
    """All sessions, also those of which nothing is left; InputError when nothing is left of any."""
    rules = PlanRules(round(settings.idle_cap_s * 1e6), settings.speedup, settings.max_context)
    plans = [plan_session(session, rules) for session in sessions]
    if not any(plan.requests for plan in plans):
        reasons = ", ".join(f"{count} {reason}" for reason, count in count_dropped(plans).items())
        raise InputError("sessions", f"no request is left to send ({reasons or 'there are none'})")
    return plans


async def _drive(
    sessions: Mapping[int, Session],
    plans: Sequence[SessionPlan],
    alphabet: Alphabet,
    settings: ReplaySettings,
    progress: Callable[[Progress], None],
) -> _Driven:
    endpoint = ENDPOINTS[settings.endpoint]
    rules = ScheduleRules(settings.concurrency, settings.warmup, round(settings.duration_s * 1e6), settings.seed)
    scheduler = Scheduler([plan for plan in plans if plan.requests], rules)
    await _preflight(alphabet, settings)
    cpu_s = time.process_time()
    clock = Clock()
    async with Transport(settings.url, endpoint, settings.headers, settings.request_timeout_s, clock) as transport:
        driver = Driver(scheduler, transport, Bodies(sessions, alphabet, endpoint, settings), clock)
        with _stopping_on_signals(driver.stop):
            reporting = asyncio.ensure_future(_report(driver, scheduler, clock, settings.duration_s, progress))
            try:
                await driver.run()
            finally:
                reporting.cancel()
                with suppress(asyncio.CancelledError):
                    await reporting
    progress(_progress(driver, scheduler, clock, settings.duration_s))
    return _Driven(
        log=driver.log,
        profile_start_us=scheduler.profile_start_us,
        end_us=driver.end_us,
        completed_plays=frozenset(scheduler.completed_plays),
        cpu_s=time.process_time() - cpu_s,
        interrupted=driver.interrupted,
    )


async def _preflight(alphabet: Alphabet, settings: ReplaySettings) -> None:
    """One tiny request, so that a server that cannot serve the run says so in its own words before it."""
    endpoint = ENDPOINTS[settings.endpoint]
    text = alphabet.between.join(alphabet.pieces[:_PREFLIGHT_TOKENS])
    if endpoint.form == "ids":
        body = completion_body(settings.model, text, 1, settings.extra_body)
    else:
        body = chat_body(settings.model, [("user", text)], 1, settings.extra_body)
    outcome = Outcome()
    timeout_s = min(_PREFLIGHT_TIMEOUT_S, settings.request_timeout_s)
    async with Transport(settings.url, endpoint, settings.headers, timeout_s, Clock()) as transport:
        await transport.send(body, outcome, lambda _at_us: None)
        where = describe(settings)["url"]
    if outcome.error is None:
        return
    if outcome.status is None:
        raise InputError(where, f"cannot reach the server ({outcome.detail})", "start it or check --url")
    raise InputError(
        where,
        f"refused a test request for model {settings.model!r} (HTTP {outcome.status}): {outcome.detail}",
        "check --model, --endpoint and --header",
    )


@contextmanager
def _stopping_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C stops cleanly, a second one is Python's own again; outside the main thread nothing changes."""
    loop = asyncio.get_running_loop()
    heard: list[signal.Signals] = []

    def hear(number: signal.Signals) -> None:
        stop()
        loop.remove_signal_handler(number)
        heard.remove(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, hear, number)
        except (RuntimeError, ValueError):
            break
        heard.append(number)
    try:
        yield
    finally:
        for number in heard:
            loop.remove_signal_handler(number)


async def _report(
    driver: Driver, scheduler: Scheduler, clock: Clock, duration_s: float, progress: Callable[[Progress], None]
) -> None:
    while True:
        progress(_progress(driver, scheduler, clock, duration_s))
        await asyncio.sleep(_REPORT_EVERY_S)


def _progress(driver: Driver, scheduler: Scheduler, clock: Clock, duration_s: float) -> Progress:
    now_us = clock.now_us()
    start_us = scheduler.profile_start_us
    return Progress(
        phase="warmup" if start_us is None else "profile",
        elapsed_s=now_us / 1e6,
        profiled_s=0.0 if start_us is None else (now_us - start_us) / 1e6,
        duration_s=duration_s,
        sent=len(driver.log),
        in_flight=driver.in_flight,
        ended=driver.ended,
        errors=driver.errors,
        sessions_completed=len(scheduler.completed_plays),
    )


def _rows(log: Sequence[tuple[Send, Outcome]]) -> list[SentRequest]:
    """In the order sent, what never left last."""
    never = float("inf")
    ordered = sorted(log, key=lambda entry: never if entry[1].sent_us is None else entry[1].sent_us)
    return [_row(send, outcome) for send, outcome in ordered]


def _row(send: Send, outcome: Outcome) -> SentRequest:
    planned, usage = send.request, outcome.usage
    return SentRequest(
        lane=send.lane,
        play=send.play,
        session=send.plan.session,
        request=planned.request,
        agent=planned.agent,
        phase=send.phase,
        model=planned.model,
        planned_input_tokens=planned.input_tokens,
        planned_output_tokens=send.output_tokens,
        after=tuple(wait.src for wait in send.waits),
        after_delay_us=tuple(wait.delay_us for wait in send.waits),
        after_anchor=tuple(wait.anchor for wait in send.waits),
        release_us=send.release_us,
        root_offset_us=send.root_offset_us,
        due_us=send.due_us,
        sent_us=outcome.sent_us,
        first_token_us=outcome.first_token_us,
        last_token_us=outcome.last_token_us,
        end_us=outcome.end_us,
        measured_input_tokens=usage.input_tokens if usage else None,
        measured_output_tokens=usage.output_tokens if usage else None,
        cached_tokens=usage.cache_read_tokens if usage else None,
        predicted_cached_tokens=None,
        status=outcome.status,
        error=outcome.error if outcome.end_us is not None else "cut",
        recorded_start_us=planned.recorded_start_us,
        recorded_end_us=planned.recorded_end_us,
    )
