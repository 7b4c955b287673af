"""The page in a real Chromium, from a file, as a person would use it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corpus.run import Run, SentRequest
from corpus.session import Edge, Session
from report.page import RunInput, SessionsInput, render_page
from tests.report.browser import CHROMIUM, chromium

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
S = 1_000_000
Make = Callable[..., Any]

# What of the page's texts is cut off at an edge of its drawing, and which guide's words lie on a bar.
CLIPPED = """[...document.querySelectorAll("figure svg text")].filter((text) => {
  const a = text.getBoundingClientRect(), b = text.ownerSVGElement.getBoundingClientRect();
  return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1;
}).map((text) => text.textContent)"""
COVERED = """[...document.querySelectorAll("figure svg")].flatMap((svg) => {
  const bars = [...svg.querySelectorAll("path.mark:not(.dots)")].map((bar) => bar.getBoundingClientRect().top);
  return [...svg.querySelectorAll(":scope > text.over")]
    .filter((text) => text.getBoundingClientRect().bottom > Math.min(...bars) + 2).map((text) => text.textContent);
})"""


def _session(make: Make, number: int) -> Session:
    steps = [(0, 0, 3), (1, 1, 2), (1, 2.5, 3), (0, 4, 6), (0, 7, 9)]
    prompts = [list(range(n)) for n in (30, 10, 14, 45, 50 + number)]
    edges = (
        Edge(0, 1, "spawn", -2 * S, "start", "timing"),
        Edge(1, 2, "sequence", S // 2, "end", "id"),
        Edge(0, 3, "sequence", S, "end", "id"),
        Edge(2, 3, "join", S, "end", "tool_result"),
        Edge(3, 4, "sequence", S, "end", "prefix"),
    )
    answers = {n: {"output_tokens": 100 * (n + 1)} for n in range(5)}
    session: Session = make(steps, answers, prompts=prompts, edges=edges, session=number)
    return session


def _run(make_sent: Callable[..., SentRequest], concurrency: int) -> Run:
    rows = [
        make_sent(
            play=n // 4,
            lane=n // 4 % 2,
            request=n % 4,
            phase="warmup" if n < 4 else "profile",
            release_us=n * S,
            sent_us=n * S + 500 * (n + 1),
            first_token_us=n * S + 30_000 * (n % 5 + 1),
            last_token_us=n * S + 800_000,
            end_us=n * S + 900_000,
        )
        for n in range(24)
    ]
    summary = {"interactivity_tps": {"p50": 9, "p90": 40 / concurrency}, "throughput_tps": 100 * concurrency}
    return Run({"concurrency": concurrency}, tuple(rows), summary)


@pytest.fixture
def url(make_session: Make, make_sent: Callable[..., SentRequest], tmp_path: Path) -> str:
    """Two data sets (the first of twelve sessions) and two runs."""
    sessions = [_session(make_session, number) for number in range(12)]
    runs = [RunInput(f"run {n}", _run(make_sent, n)) for n in (4, 16)]
    path = tmp_path / "page.html"
    path.write_text(render_page([SessionsInput("one", sessions), SessionsInput("other", sessions[:3]), *runs]))
    return path.as_uri()


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (800, True)])
async def test_every_view_is_drawn_whole_and_nothing_is_asked_of_anyone(url: str, width: int, dark: bool) -> None:
    async with chromium() as page:
        await page.open(url, width=width, dark=dark)
        assert await page.ask("document.querySelectorAll('section').length") == 5
        figures = "[...document.querySelectorAll('figure')]"
        given = await page.ask("DATA.flatMap((input) => input.charts.flatMap(([, charts]) => charts)).length")
        assert await page.ask(f"{figures}.length") == given >= 8 + 8 + 9 + 9 + 1
        assert await page.ask(f"{figures}.filter((f) => !f.querySelector('.mark')).map((f) => f.textContent)") == []
        for selector, least in ((".bar", 40), (".link", 10), ("rect.critical", 4), (".flame button", 5)):
            assert await page.ask(f"document.querySelectorAll({selector!r}).length") >= least, selector
        assert await page.ask(CLIPPED) == []
        assert await page.ask(COVERED) == []
        assert await page.ask("document.documentElement.scrollWidth - innerWidth") <= 0
        ground = await page.ask("getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(20, 23, 28)" if dark else "rgb(255, 255, 255)")
        assert page.events == []


async def test_sessions_are_searched_sorted_opened_and_addressed(url: str) -> None:
    async with chromium() as page:
        await page.open(url)
        rows = "[...document.querySelectorAll('#input-1 tbody')].at(-1).children"
        await page.move("#input-1 input[type=search]", click=True)
        await page.call("Input.insertText", text="session-12")
        assert await page.ask(f"{rows}.length") == 1
        await page.move("#input-1 .tall td button", click=True)
        assert await page.ask("location.hash") == "#input-1&s=12"
        titles = "[...document.querySelectorAll('#input-1 h3')].map((h) => h.textContent).join()"
        assert "Timeline: session-12" in await page.ask(titles)
        await page.ask("history.back()")
        await page.drawn()
        assert page.events == []


async def test_an_address_opens_its_session_and_unfolds_the_agent_of_its_request(url: str) -> None:
    async with chromium() as page:
        await page.open(url + "#input-1&s=3&t=2")
        assert await page.ask("document.querySelector('#input-1 .chosen').textContent") == await page.ask(
            "document.querySelectorAll('#input-1 .tall tbody tr')[2].textContent"
        )
        assert await page.ask("document.querySelector('#input-1 .here span').textContent") == "request 2"
        assert await page.ask("document.querySelectorAll('#input-1 .bar.at').length") == 1
        row = "document.querySelector('#input-1 .here').getBoundingClientRect().top"
        assert await page.ask(f"{row} > 0 && {row} < innerHeight")
        assert "id" in await page.ask("[...document.querySelectorAll('#input-1 .said')].map((t) => t.textContent)")


async def test_bars_rows_and_runs_lead_to_each_other(url: str) -> None:
    async with chromium() as page:
        await page.open(url)
        await page.move("#input-1 .flame > button:last-of-type", click=True)
        request = await page.ask("document.querySelector('#input-1 .here span').textContent.split(' ')[1]")
        assert await page.ask("location.hash") == f"#input-1&s=1&t={request}"
        await page.move("#input-1 .bar", click=True)
        assert await page.ask("document.querySelector('#input-1 .here span').textContent") == "request 0"
        await page.move("#input-3 .bar", click=True)
        assert await page.ask("location.hash") == "#input-3&s=2&t=4"
        await page.move("#input-5 a.mark circle", click=True)
        assert await page.ask("location.hash") == "#input-3"
        assert page.events == []


async def test_a_timeline_zooms_and_is_walked_by_keys(url: str) -> None:
    async with chromium() as page:
        await page.open(url)
        width = "Number(document.querySelector('#input-1 .chart svg').getAttribute('width'))"
        before = await page.ask(width)
        await page.move("#input-1 button[aria-label^='Show less']", click=True)
        assert await page.ask(width) == 2 * before
        await page.ask("document.querySelector('#input-1 .chart svg').focus()")
        for _ in range(2):
            await page.key("ArrowRight")
        assert "request1" in await page.ask("document.querySelector('#input-1 .facts-of-bar').textContent")


async def test_pointing_at_a_chart_says_its_numbers(url: str) -> None:
    async with chromium() as page:
        await page.open(url)
        await page.move("#input-1 figure path.mark")
        said = await page.ask("document.querySelector('#input-1 figure p').textContent")
        assert "of those drawn up to here" in said


async def test_much_data_travels_packed_and_is_drawn(make_session: Make, tmp_path: Path) -> None:
    session = make_session([(0, n, n + 0.5) for n in range(4000)])
    path = tmp_path / "page.html"
    path.write_text(render_page([SessionsInput("large", [session])]))
    assert "application/gzip" in path.read_text()
    assert path.stat().st_size < 300_000
    async with chromium() as page:
        await page.open(path.as_uri())
        assert await page.ask("document.querySelectorAll('.bar').length") == 4000
        assert await page.ask("document.querySelectorAll('.flame button').length") == 4000
        assert page.events == []
