"""What decides a replay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from corpus.errors import InputError
from replay.addressing import check_addressing
from replay.commands import Warmup
from replay.economy import chips_of
from replay.endpoints import ENDPOINTS, EndpointName
from replay.engines import DEFAULT_ENGINE, ENGINES, Engine, EngineName, check_endpoint, check_extra_body
from replay.method import MethodName
from replay.sampling import Sampling
from replay.scraping import metrics_sources


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    url: str
    model: str
    out: Path
    tokenizer: str
    endpoint: EndpointName = "completions"
    concurrency: int = 1  # live sessions; sub-agents may have more requests in flight
    duration_s: float = 3600
    seed: int = 42
    warmup: Warmup = "steady"
    sampling: Sampling = "sequential"
    method: MethodName = "published"
    repeats: bool = False  # without warm-up: sessions come again until the duration is over
    requests: int | None = None  # to profile at most
    open_loop: bool = False  # by time stamps, whatever the server does
    grace_s: float = 30  # for answers in flight when the duration is over
    failure_share: float = 0.1  # of a phase's requests; more failures stop the run
    idle_cap_s: float = 300
    speedup: float = 1
    max_context: int | None = None  # tokens, prompt plus output
    request_timeout_s: float = 1800
    workers: int = 1  # processes
    labels: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    engine: EngineName | None = None  # None: whatever the server says it is
    hints: frozenset[str] = frozenset()  # of `addressing.HINTS`
    dp_ranks: int = 0  # of data parallelism; lanes are dealt out to them; 0: the server's own affair
    metrics_urls: tuple[str, ...] = ()
    price: float | None = None  # US$ an hour for one chip
    fingerprint: str | None = None  # of the corpus, where the caller knows it already
    force: bool = False


def check_settings(settings: ReplaySettings) -> None:
    """Raises InputError for values no replay can be run with."""
    for option, value, least in (
        ("--concurrency", settings.concurrency, 1),
        ("--workers", settings.workers, 1),
        ("--idle-cap", settings.idle_cap_s, 0),
        ("--max-context", 1 if settings.max_context is None else settings.max_context, 1),
        ("--requests", 1 if settings.requests is None else settings.requests, 1),
        ("--grace", settings.grace_s, 0),
        ("--failures", settings.failure_share, 0),
    ):
        if not value >= least:
            raise InputError(option, f"is {value}", f"give {least} or more")
    amounts = [("--duration", settings.duration_s), ("--speedup", settings.speedup)]
    amounts.append(("--timeout", settings.request_timeout_s))
    if settings.price is not None:
        amounts.append(("--price", settings.price))
    for option, amount in amounts:
        if not 0 < amount < float("inf"):
            raise InputError(option, f"is {amount}", "give a number above 0")
    if urlsplit(settings.url).scheme not in ("http", "https"):
        raise InputError("--url", f"{settings.url!r} is no http or https address", "for example http://127.0.0.1:8000")
    for header, text in settings.headers.items():
        if not (header + text).isprintable():
            raise InputError("--header", f"{header!r} holds characters that no header may have")
    check_method(settings)
    check_extra_body(settings.extra_body)
    check_addressing(engine_in(settings), settings.hints, settings.dp_ranks)
    check_endpoint(engine_in(settings), settings.endpoint, ids=ENDPOINTS[settings.endpoint].form == "ids")
    metrics_sources(settings.metrics_urls)
    chips_of(settings.labels)


def named_engine(settings: ReplaySettings) -> Engine | None:
    return None if settings.engine is None else ENGINES[settings.engine]


def engine_in(settings: ReplaySettings) -> Engine:
    """The one that was named or found, else the default."""
    return named_engine(settings) or DEFAULT_ENGINE


def check_method(settings: ReplaySettings) -> None:
    if settings.method == "agentx" and settings.workers > 1:
        raise InputError("--compat agentx", "has one clock for all lanes", "leave out --workers")
    if settings.open_loop and settings.warmup != "none":
        raise InputError("--open-loop", "has no warm-up", "leave out --warmup, or give --warmup none")
    if settings.open_loop and settings.method != "published":
        raise InputError("--open-loop", "is no method of the harness", "leave out --compat")


def describe(settings: ReplaySettings) -> dict[str, Any]:
    """For `config.json`: all that decides the run; of headers the names only, since values may be secrets."""
    return {
        "version": version("agentreel"),
        "corpus_fingerprint": settings.fingerprint,
        "url": without_credentials(settings.url),
        "model": settings.model,
        "endpoint": settings.endpoint,
        "tokenizer": settings.tokenizer,
        "concurrency": settings.concurrency,
        "duration_s": settings.duration_s,
        "seed": settings.seed,
        "warmup": settings.warmup,
        "sampling": settings.sampling,
        "method": settings.method,
        "requests": settings.requests,
        "open_loop": settings.open_loop,
        "grace_s": settings.grace_s,
        "failure_share": settings.failure_share,
        "idle_cap_s": settings.idle_cap_s,
        "speedup": settings.speedup,
        "max_context": settings.max_context,
        "request_timeout_s": settings.request_timeout_s,
        "workers": settings.workers,
        "labels": dict(settings.labels),
        "header_names": sorted(settings.headers),
        "extra_body": dict(settings.extra_body),
        "engine": settings.engine,
        "hints": sorted(settings.hints),
        "dp_ranks": settings.dp_ranks,
        "metrics_urls": [source.label for source in metrics_sources(settings.metrics_urls)],
        "price": settings.price,
    }


def without_credentials(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
