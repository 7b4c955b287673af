"""`--dry-run`: what a run would send, worked out without a server.

What is dropped, where lanes begin and the first bodies are exactly those of the run. How much is sent depends on the
server; the rehearsal takes one that answers as fast as the recorded one, and warm-up requests at their first token.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

import orjson

from corpus.fingerprint import fingerprint_sessions
from corpus.session import Session
from replay.bodies import Bodies
from replay.commands import Send
from replay.content import Material
from replay.content_pool import Pool, make_pool
from replay.endpoints import ENDPOINTS
from replay.method import METHODS, split_at
from replay.plan import DrawGraph, SessionPlan, marker_blocks
from replay.rehearse import Finished, Rehearsed, as_recorded, rehearse
from replay.run_plan import RunPlan, plan_run
from replay.sampling import Sampler
from replay.schedule import Scheduler
from replay.settings import ReplaySettings, check_settings, describe

_PROMPT: Final = frozenset({"prompt", "messages", "input", "system", "instructions", "tools"})
_FIRST: Final = 10  # requests that are shown one by one
_MOST_REHEARSED: Final = 200_000


def preview(
    sessions: Sequence[Session],
    settings: ReplaySettings,
    draw: DrawGraph | None = None,
    pool: Callable[[], Pool] | None = None,
) -> dict[str, Any]:
    """InputError for what a run would refuse without a server. JSON values. `pool`: as of `run_replay`."""
    check_settings(settings)
    settings = replace(settings, fingerprint=settings.fingerprint or fingerprint_sessions(sessions))
    planned = plan_run(sessions, settings, draw)
    scheduler = Scheduler(planned.plans, planned.rules)
    *seen, last = islice(rehearse(scheduler, as_recorded), _MOST_REHEARSED + 1)
    requests = [one for one in [*seen, last] if isinstance(one, Rehearsed)]
    ordered = sorted(requests, key=lambda one: (one.started_us, one.send.play, one.send.request.request))
    first = [one.send for one in ordered[:_FIRST]]
    made = make_pool(settings.tokenizer) if pool is None else pool()
    dropped = planned.dropped.total()
    return {
        "dry_run": True,
        **{name: describe(settings)[name] for name in ("corpus_fingerprint", "seed", "version")},
        "sessions": len(planned.plans),
        "corpus_requests": planned.corpus_requests,
        "dropped_requests": dict(planned.dropped),
        "dropped_share": dropped / planned.corpus_requests if planned.corpus_requests else None,
        "lanes": _lanes(planned),
        "rehearsal": {
            **_sums(one.send for one in requests),
            "sessions_completed": len(scheduler.completed_plays),
            "seconds": last.at_us / 1e6 if isinstance(last, Finished) else None,
            "stopped": last.done.reason if isinstance(last, Finished) else f"after {_MOST_REHEARSED} requests",
        },
        "first_requests": asyncio.run(_first_requests(first, sessions, settings, made)),
    }


def _lanes(planned: RunPlan) -> list[dict[str, Any]]:
    """Empty where sessions arrive by their clock."""
    rules, sampler = planned.rules, Sampler(planned.rules.sampling, planned.rules.seed, len(planned.plans))
    if rules.arrivals_us is not None:
        return []
    endless = rules.warmup == "steady" or rules.repeats
    lanes = rules.lanes if endless else min(rules.lanes, len(planned.plans))
    return [_lane(planned.plans[sampler.session(lane)], lane, planned) for lane in range(lanes)]


def _lane(plan: SessionPlan, lane: int, planned: RunPlan) -> dict[str, Any]:
    told = {"lane": lane, "session": plan.session, "label": plan.label, "requests": len(plan.requests)}
    if planned.rules.warmup != "steady":
        return told
    method = METHODS[planned.rules.method]
    point_us = method.start_point_us(plan, lane, planned.rules.seed)
    split = split_at(plan, point_us, primes_last_in_flight=method.primes_last_in_flight)
    return {
        **told,
        "start_us": round(point_us),
        "primers": [primer.request for primer in split.primers],
        "skipped": len(split.skipped),
    }


def _sums(sends: Iterable[Send]) -> dict[str, Any]:
    phases: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    plays: set[int] = set()
    for send in sends:
        phases[send.phase] += 1
        tokens["input"] += send.request.input_tokens
        tokens["output"] += send.output_tokens
        plays.add(send.play)
    return {
        "warmup_requests": phases["warmup"],
        "profile_requests": phases["profile"],
        "input_tokens": tokens["input"],
        "output_tokens": tokens["output"],
        "plays": len(plays),
    }


async def _first_requests(
    sends: Sequence[Send], sessions: Sequence[Session], settings: ReplaySettings, pool: Pool
) -> list[dict[str, Any]]:
    endpoint = ENDPOINTS[settings.endpoint]
    material = Material(pool, endpoint.form)
    markers = marker_blocks(send.plan for send in sends)
    by_number = {session.session: session for session in sessions}
    bodies = Bodies(by_number, material, endpoint, settings, markers=markers)
    return [
        {
            **_told(send, body),
            "path": endpoint.path,
            "headers": {**dict.fromkeys(settings.headers, "..."), **bodies.headers(send)},
            "fields": {name: value for name, value in orjson.loads(body).items() if name not in _PROMPT},
        }
        for send in sends
        for body in [await bodies.body(send)]
    ]


def _told(send: Send, body: bytes) -> dict[str, Any]:
    return {
        "lane": send.lane,
        "play": send.play,
        "session": send.plan.session,
        "request": send.request.request,
        "phase": send.phase,
        "due_us": send.due_us,
        "after": [wait.src for wait in send.waits],
        "input_tokens": send.request.input_tokens,
        "output_tokens": send.output_tokens,
        "body_bytes": len(body),
        "body_digest": hashlib.blake2b(body, digest_size=16).hexdigest(),
    }
