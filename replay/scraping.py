"""Asks every metrics URL once a second while a run goes on, and once more when a phase begins.

A scraper is a guest: whatever its server does (nothing, slowly, nonsense), the run goes on and the failure is counted
and told. It uses connections of its own, so no request waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit, urlunsplit

from corpus.errors import InputError
from corpus.server_metrics import ServerSample, writing_server_metrics
from replay.fetch import fetch
from replay.metrics_text import read_metrics

INTERVAL_S: Final = 1.0
_TIMEOUT_S: Final = 5.0


@dataclass(slots=True)
class Source:
    """One metrics URL and how asking it went."""

    url: str
    label: str
    scrapes: int = 0
    failures: int = 0
    problem: str = ""  # the last one, in words


def metrics_sources(urls: Sequence[str]) -> list[Source]:
    """A URL without a path means its `/metrics`. InputError for what is no URL or is given twice."""
    sources = [_source(url) for url in urls]
    labels = [source.label for source in sources]
    for label in labels:
        if labels.count(label) > 1:
            raise InputError("--metrics-url", f"{label} is given twice")
    return sources


def _source(url: str) -> Source:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InputError("--metrics-url", f"{url!r} is no http or https address", "for example http://127.0.0.1:8000")
    path = parts.path if parts.path not in ("", "/") else "/metrics"
    label = parts.netloc.rpartition("@")[2] + path
    return Source(urlunsplit((parts.scheme, parts.netloc, path, parts.query, "")), label)


def told_of(sources: Sequence[Source]) -> dict[str, dict[str, Any]]:
    """How asking each went, by its label."""
    return {
        source.label: {"scrapes": source.scrapes, "failures": source.failures, "problem": source.problem}
        for source in sources
    }


class Scraper:
    """Scrapes while its block runs, first and last at its two ends; `add` receives what each scrape found."""

    def __init__(
        self, sources: Sequence[Source], now_us: Callable[[], int], add: Callable[[list[ServerSample]], None]
    ) -> None:
        self.sources = sources
        self._now_us = now_us
        self._add = add
        self._soon = [asyncio.Event() for _ in sources]
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        await self._scrape_all()
        self._tasks = [
            asyncio.ensure_future(self._follow(source, soon))
            for source, soon in zip(self.sources, self._soon, strict=True)
        ]
        return self

    async def __aexit__(self, *_error: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._scrape_all()

    def look_now(self) -> None:
        """A phase begins: every source is asked without waiting for its second."""
        for event in self._soon:
            event.set()

    async def _scrape_all(self) -> None:
        await asyncio.gather(*(self._scrape(source) for source in self.sources))

    async def _follow(self, source: Source, soon: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            due = max(due + INTERVAL_S, loop.time())  # seconds missed are not made up for
            with suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await soon.wait()
            soon.clear()
            await self._scrape(source)

    async def _scrape(self, source: Source) -> None:
        source.scrapes += 1
        try:
            found = await self._values(source.url)
            at_us = self._now_us()
            self._add([ServerSample(at_us, source.label, name, value) for name, value in found.items()])
        except (OSError, ValueError) as error:
            source.failures += 1
            words = error.strerror if isinstance(error, OSError) else None
            source.problem = words or str(error) or f"no answer within {_TIMEOUT_S:g} s"

    async def _values(self, url: str) -> dict[str, float]:
        found = read_metrics(await self._page(url))
        if not found:
            raise ValueError("none of the known metrics is on the page")
        return found

    async def _page(self, url: str) -> str:
        status, page = await fetch(url, timeout_s=_TIMEOUT_S)
        if status != 200:
            raise ValueError(f"HTTP {status}")
        return page.decode(errors="replace")


@asynccontextmanager
async def scraping(sources: Sequence[Source], folder: Path, now_us: Callable[[], int]) -> AsyncIterator[Scraper | None]:
    """Samples go to `server.parquet` of the folder; without sources nothing is done, and no file is made."""
    if not sources:
        yield None
        return
    with writing_server_metrics(folder) as writer:
        async with Scraper(sources, now_us, writer.add) as scraper:
            yield scraper
