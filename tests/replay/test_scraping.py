"""Scrapes of loopback servers that answer well, badly, slowly or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web

from corpus.errors import InputError
from corpus.server_metrics import ServerSample
from replay.scraping import Scraper, metrics_sources

PAGE = "vllm:num_requests_running 3\nvllm:num_requests_waiting 1\n"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def page(_request: web.Request) -> web.Response:
    return web.Response(text=PAGE)


async def broken(_request: web.Request) -> web.Response:
    return web.Response(status=503)


async def other(_request: web.Request) -> web.Response:
    return web.Response(text="python_gc_objects_collected_total 4\n")


async def endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b"#" * (1 << 20))


class Pages:
    """Serves its handlers at /0, /1, ... for the time of the block."""

    def __init__(self, *handlers: Handler) -> None:
        self._handlers = handlers

    async def __aenter__(self) -> list[str]:
        app = web.Application()
        app.add_routes([web.get(f"/{number}", handler) for number, handler in enumerate(self._handlers)])
        self._runner = web.AppRunner(app, shutdown_timeout=0, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        return [f"http://{host}:{port}/{number}" for number in range(len(self._handlers))]

    async def __aexit__(self, *_error: object) -> None:
        await self._runner.cleanup()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 (a counter of the scraper, nothing that has an event)
            await asyncio.sleep(0.01)


def test_first_and_last_scrape_are_at_the_ends_of_the_block() -> None:
    async def scenario() -> list[ServerSample]:
        found: list[ServerSample] = []
        moments = iter(range(100))
        async with Pages(page) as urls, Scraper(metrics_sources(urls), lambda: next(moments), found.extend):
            pass
        return found

    samples = asyncio.run(scenario())
    assert [(sample.at_us, sample.name, sample.value) for sample in samples] == [
        (0, "running", 3),
        (0, "waiting", 1),
        (1, "running", 3),
        (1, "waiting", 1),
    ]
    assert {sample.source.rpartition("/")[2] for sample in samples} == {"0"}


def test_a_phase_change_is_looked_at_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replay.scraping.INTERVAL_S", 3600.0)

    async def scenario() -> int:
        async with Pages(page) as urls, Scraper(metrics_sources(urls), lambda: 0, lambda _found: None) as scraper:
            scraper.look_now()
            await until(lambda: scraper.sources[0].scrapes == 2)
        return scraper.sources[0].scrapes

    assert asyncio.run(scenario()) == 3


def test_every_interval_brings_a_scrape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replay.scraping.INTERVAL_S", 0.01)

    async def scenario() -> None:
        async with Pages(page) as urls, Scraper(metrics_sources(urls), lambda: 0, lambda _found: None) as scraper:
            await until(lambda: scraper.sources[0].scrapes > 5)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("handler", "said"),
    [(broken, "HTTP 503"), (other, "none of the known metrics"), (endless, "larger than 16 MiB")],
)
def test_a_bad_page_is_counted_and_told_and_disturbs_nobody(handler: Handler, said: str) -> None:
    async def scenario() -> tuple[Scraper, list[ServerSample]]:
        found: list[ServerSample] = []
        async with Pages(page, handler) as urls, Scraper(metrics_sources(urls), lambda: 0, found.extend) as scraper:
            pass
        return scraper, found

    scraper, found = asyncio.run(scenario())
    good, bad = scraper.sources
    assert (good.scrapes, good.failures, bad.scrapes, bad.failures) == (2, 0, 2, 2)
    assert said in bad.problem
    assert {sample.source for sample in found} == {good.label}


def test_nobody_there_is_a_failed_scrape() -> None:
    async def scenario() -> Scraper:
        async with Pages(page) as urls:
            pass
        async with Scraper(metrics_sources(urls), lambda: 0, lambda _found: None) as scraper:
            pass
        return scraper

    assert asyncio.run(scenario()).sources[0].failures == 2


def test_a_url_without_a_path_means_its_metrics_page_and_hides_its_password() -> None:
    (source,) = metrics_sources(["http://me:secret@gpu:9400"])
    assert (source.url, source.label) == ("http://me:secret@gpu:9400/metrics", "gpu:9400/metrics")


@pytest.mark.parametrize("urls", [["gpu:9400"], ["ftp://a"], ["http://a", "http://a/metrics"]])
def test_what_is_no_url_or_is_given_twice_is_told(urls: list[str]) -> None:
    with pytest.raises(InputError, match="--metrics-url"):
        metrics_sources(urls)
