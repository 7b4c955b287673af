"""A replay from sessions to a run directory: look at the server, read, plan, drive, judge, write.

The only entry of the room. Bad settings, an output that exists and a server that is not there are one-line errors
before a session is read; a server that refuses the model is one before anything is sent. Ctrl-C (or SIGTERM) cuts what
is in flight and writes the run as it stands. What the first request does not need is done after the last one.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from corpus.errors import AgentreelError, InputError
from corpus.fingerprint import fingerprint_sessions
from corpus.row_log import read_row_log
from corpus.run import SentRequest, refuse_existing_run, write_run
from corpus.server_metrics import FILE_NAME, read_server_metrics
from corpus.session import Session
from replay.addressing import trial_fields
from replay.calibrate import calibrate
from replay.connection import Clock
from replay.content import Material
from replay.content_pool import Pool, make_pool
from replay.economy import chips_of
from replay.endpoints import ENDPOINTS
from replay.framing import Framing
from replay.heap import uncollected
from replay.items import kinds_in
from replay.plan import DrawGraph
from replay.prediction import with_predictions
from replay.progress import Meter, Progress, Tally
from replay.run_plan import RunPlan, plan_run
from replay.scraping import Scraper, Source, metrics_sources, scraping, told_of
from replay.server import ServerFacts, check_reachable, look_at
from replay.server_summary import summarise_server
from replay.settings import ReplaySettings, check_settings, describe, engine_in, named_engine
from replay.shift import Share, Shift, Worked
from replay.summary import RunFacts, summarise
from replay.team import Team, TeamWork

_REPORT_EVERY_S: Final = 0.5


def run_replay(
    sessions: Iterable[Session],
    settings: ReplaySettings,
    progress: Callable[[Progress], None],
    draw: DrawGraph | None = None,
    pool: Callable[[], Pool] | None = None,
) -> dict[str, Any]:
    """Blocks until the run is over and written to `settings.out`; returns its summary.

    `sessions` are taken once the server was seen to be there; `progress` is called twice a second; `draw` draws the
    graph of a session that is not to be played by its own edges; `pool` waits for one that is being made
    (`replay.content_ahead`).
    Raises InputError for what a person can put right.
    """
    check_settings(settings)
    refuse_existing_run(settings.out, force=settings.force)
    server = asyncio.run(_look_at(settings))
    settings = replace(settings, engine=server.engine.name)
    check_settings(settings)
    with uncollected():
        sessions = list(sessions)
        planned = plan_run(sessions, settings, draw)
    by_number = {session.session: session for session in sessions}
    made = make_pool(settings.tokenizer) if pool is None else pool()
    if made.words:
        logging.getLogger(__name__).warning("prompts are plain words: tokenizer %s %s", settings.tokenizer, made.words)
    material = Material(made, ENDPOINTS[settings.endpoint].form)
    try:
        return _play_and_write(by_number, planned, material, settings, server, progress)
    except OSError as error:
        raise AgentreelError(f"{settings.out}: cannot be written ({error.strerror or error})") from error


async def _look_at(settings: ReplaySettings) -> ServerFacts:
    await check_reachable(settings.url)
    return await look_at(settings.url, settings.model, settings.headers, named_engine(settings))


def _play_and_write(
    by_number: Mapping[int, Session],
    planned: RunPlan,
    material: Material,
    settings: ReplaySettings,
    server: ServerFacts,
    progress: Callable[[Progress], None],
) -> dict[str, Any]:
    """The summary. OSError when the disk is full: then there is no run."""
    sources = metrics_sources(settings.metrics_urls)
    with _row_folder(settings.out) as folder:
        shares = _shares(by_number, planned, material, settings, folder)
        done, framing = asyncio.run(_perform(shares, settings, sources, progress))
        rows = with_predictions(_rows(share.rows for share in shares), by_number.__getitem__)
        facts = _facts(done, planned, settings, server.context_tokens)
        if sources:
            samples = read_server_metrics(folder)
            phases = summarise_server(samples, facts.profile_start_us, facts.profile_end_us)
            facts = replace(facts, server={**phases, "sources": told_of(sources)})
        fingerprint = settings.fingerprint or fingerprint_sessions(by_number.values())
        config = {**describe(replace(settings, fingerprint=fingerprint)), "framing": framing.describe()}
        decided = {name: config[name] for name in ("corpus_fingerprint", "seed", "version", "engine")}
        summary = {**summarise(rows, facts), **decided, "server_context_tokens": server.context_tokens}
        beside = [folder / FILE_NAME] if sources else []
        write_run(settings.out, config, rows, summary, beside=beside, force=settings.force)
    return summary


def _shares(
    sessions: Mapping[int, Session],
    planned: RunPlan,
    material: Material,
    settings: ReplaySettings,
    folder: Path,
) -> list[Share]:
    """One for each worker that has a lane."""
    workers = min(settings.workers, settings.concurrency)
    origin_ns = time.monotonic_ns()
    return [
        Share(
            sessions=sessions,
            plans=planned.plans,
            rules=replace(planned.rules, worker=worker, workers=workers),
            material=material,
            settings=settings,
            origin_ns=origin_ns,
            rows=folder / f"{worker}.arrow",
        )
        for worker in range(workers)
    ]


async def _perform(
    shares: Sequence[Share],
    settings: ReplaySettings,
    sources: Sequence[Source],
    progress: Callable[[Progress], None],
) -> tuple[TeamWork, Framing]:
    """All lanes to their end, here or in worker processes; `progress` is told twice a second."""
    engine, share = engine_in(settings), shares[0]
    fields = trial_fields(engine, settings.endpoint, settings.hints, settings.extra_body, 1)
    framing = await calibrate(share.material, settings, fields, kinds_in(share.sessions.values()))
    clock = Clock()
    shares = [replace(share, origin_ns=clock.origin_ns, framing=framing) for share in shares]
    meter = Meter(settings.duration_s, len(shares))
    async with scraping(sources, shares[0].rows.parent, clock.now_us) as scraper:
        if len(shares) == 1:
            performing = _alone(shares[0], meter, clock)
        else:
            performing = _together(shares, settings.failure_share, meter, clock)
        reporting = asyncio.ensure_future(_report(meter, clock, progress, scraper))
        try:
            done = await performing
        finally:
            reporting.cancel()
            with suppress(asyncio.CancelledError):
                await reporting
    progress(meter.progress(clock.now_us() / 1e6))
    return done, framing


async def _alone(share: Share, meter: Meter, clock: Clock) -> TeamWork:
    shift = Shift(share)

    async def tell() -> None:
        while True:
            await asyncio.sleep(_REPORT_EVERY_S)
            meter.add(0, shift.tally(), clock.now_us() / 1e6)

    telling = asyncio.ensure_future(tell())
    try:
        with _stopping_on_signals(shift.driver.stop):
            worked = await shift.run()
    finally:
        telling.cancel()
    meter.add(0, shift.tally(), clock.now_us() / 1e6)
    if worked.done is not None and worked.done.reason in ("failures", "stuck"):
        return TeamWork((worked,), worked.done.detail, worked.done.reason)
    return TeamWork((worked,), "")


async def _together(shares: Sequence[Share], failure_share: float, meter: Meter, clock: Clock) -> TeamWork:
    """A worker sees the failures of its own lanes alone, so it tolerates all of them and the team does not."""
    shares = [replace(share, rules=replace(share.rules, failure_share=1.0)) for share in shares]
    loop = asyncio.get_running_loop()
    stopped = threading.Event()

    def hear(worker: int, tally: Tally) -> None:
        loop.call_soon_threadsafe(meter.add, worker, tally, clock.now_us() / 1e6)

    team = Team(shares, failure_share, hear, stopped.is_set)
    with _stopping_on_signals(stopped.set):
        return await asyncio.to_thread(team.run)


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


async def _report(meter: Meter, clock: Clock, progress: Callable[[Progress], None], scraper: Scraper | None) -> None:
    phase = "warmup"
    while True:
        told = meter.progress(clock.now_us() / 1e6)
        if told.phase != phase and scraper is not None:
            scraper.look_now()
        phase = told.phase
        progress(told)
        await asyncio.sleep(_REPORT_EVERY_S)


@contextmanager
def _row_folder(out: Path) -> Iterator[Path]:
    """Beside the run's place, so that a full disk shows where the run would not fit either."""
    try:
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        folder = tempfile.TemporaryDirectory(prefix=f".{out.name}.", suffix=".rows", dir=out.absolute().parent)
    except OSError as error:
        raise InputError(out, f"cannot be written here ({error.strerror})", "choose another place") from error
    with folder as name:
        yield Path(name)


def _rows(logs: Iterable[Path]) -> list[SentRequest]:
    """In the order sent, what never left last."""
    rows = [row for path in logs for row in read_row_log(path)]
    never = float("inf")
    return sorted(rows, key=lambda row: (never if row.sent_us is None else row.sent_us, row.play, row.request))


def _facts(done: TeamWork, planned: RunPlan, settings: ReplaySettings, context_tokens: int | None) -> RunFacts:
    worked: tuple[Worked, ...] = done.worked
    starts = [one.profile_start_us for one in worked if one.profile_start_us is not None]
    ends = [one.end_us for one in worked if one.end_us is not None]
    interrupted = any(one.interrupted for one in worked) and not done.problem
    reasons = [one.done.reason for one in worked if one.done is not None]
    ended = "interrupted" if interrupted else max(reasons, default="completed")
    return RunFacts(
        profile_start_us=min(starts, default=None),
        profile_end_us=max(ends, default=None),
        completed_plays=frozenset(play for one in worked for play in one.completed_plays),
        dropped=planned.dropped,
        corpus_requests=planned.corpus_requests,
        dropped_sessions=planned.dropped_sessions,
        client_cpu_s=sum(one.cpu_s for one in worked),
        interrupted=interrupted,
        stopped=done.reason or ("problem" if done.problem else ended),
        problem=done.problem,
        resent=sum(one.resent for one in worked),
        chips=chips_of(settings.labels),
        price=settings.price,
        over_context=planned.longer_than(context_tokens),
    )
