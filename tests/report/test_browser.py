"""The page in a real Chromium, from a file, as a person would use it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corpus.run import Run, SentRequest
from corpus.server_metrics import METRICS, ServerSample
from corpus.session import Edge, Session
from report.page import CalibrationInput, CapturesInput, PageInput, RunInput, SessionsInput, render_page
from tests.report.browser import CHROMIUM, Browser, chromium
from wire.usage import Usage

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
S = 1_000_000
Make = Callable[..., Any]

# Charts with a pixel of ink on the outermost row or column of their canvas: something is cut off there.
CLIPPED = """[...document.querySelectorAll("figure")].filter((figure) => {
  const canvas = figure.querySelector("canvas"), { width, height } = canvas, pen = canvas.getContext("2d");
  const edges = [[0, 0, width, 1], [0, height - 1, width, 1], [0, 0, 1, height], [width - 1, 0, 1, height]];
  return edges.some((edge) => pen.getImageData(...edge).data.some((v, n) => n % 4 === 3 && v > 0));
}).map((figure) => figure.querySelector("b").textContent)"""
# Texts of charts that leave their figure, lie on the plot or on each other.
COVERED = """[...document.querySelectorAll("figure")].flatMap((figure) => {
  const texts = [...figure.querySelectorAll(".said")], boxes = texts.map((text) => text.getBoundingClientRect());
  const edge = figure.getBoundingClientRect(), plot = figure.querySelector(".u-over").getBoundingClientRect();
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const outside = (a) => a.left < edge.left || a.right > edge.right || a.bottom > plot.top + 1;
  return texts.filter((_, n) => outside(boxes[n]) || boxes.some((box, m) => m < n && meet(box, boxes[n])))
    .map((text) => text.textContent);
})"""
# Charts between whose axes nothing but lines of the grid is drawn.
BLANK = """[...document.querySelectorAll("figure")].filter((figure) => {
  if (figure.querySelector(".point")) return false;
  const canvas = figure.querySelector("canvas"), pen = canvas.getContext("2d"), seen = new Set();
  const at = figure.querySelector(".u-over"), box = [at.offsetLeft, at.offsetTop, at.offsetWidth, at.offsetHeight];
  const data = pen.getImageData(...box).data;
  for (let n = 0; n < data.length; n += 4)
    if (data[n + 3] > 120) seen.add(`${data[n] >> 4} ${data[n + 1] >> 4} ${data[n + 2] >> 4}`);
  return seen.size < 2;
}).map((figure) => figure.querySelector("b").textContent)"""
# Axes without a number cannot be read.
UNREAD = """[...document.querySelectorAll("figure")]
  .filter((figure) => figure.plot().axes.some((axis) => !axis._splits?.length))
  .map((figure) => figure.querySelector("b").textContent)"""
CANVAS = "#input-{} .chart canvas"


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
    answers = {n: {"output_tokens": 100 * (n + 1), "usage": Usage(input_tokens=1900 + 300 * n)} for n in range(5)}
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


def _samples() -> list[ServerSample]:
    """Every metric, once a second."""
    return [ServerSample(n * S, "gpu", name, (n + 1) * n / 600) for n in range(24) for name in METRICS]


@pytest.fixture
def url(make_session: Make, make_sent: Callable[..., SentRequest], tmp_path: Path) -> str:
    """Two data sets (the first of twelve sessions), two runs, a calibration."""
    sessions = [_session(make_session, number) for number in range(12)]
    runs = [RunInput(f"run {n}", _run(make_sent, n), samples=_samples()) for n in (4, 16)]
    ratios = {"p1": 0.9, "p50": 0.97, "p99": 1.1, "within_5": 0.5}
    fits = CalibrationInput("fits", {"m": {"requests": 9, "sessions": 2, "raw": ratios}})
    path = tmp_path / "page.html"
    path.write_text(render_page([SessionsInput("one", sessions), SessionsInput("other", sessions[:3]), *runs, fits]))
    return path.as_uri()


def _of(number: int, name: str) -> str:
    """What a timeline's canvas says of itself."""
    return f"document.querySelector('{CANVAS.format(number)}').dataset.{name}"


async def _show(page: Browser, selector: str) -> None:
    await page.ask(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center'}})")
    await page.drawn()


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (800, True)])
async def test_every_view_is_drawn_whole_and_nothing_is_asked_of_anyone(url: str, width: int, dark: bool) -> None:
    async with chromium() as page:
        await page.open(url, width=width, dark=dark)
        assert await page.ask("document.querySelectorAll('section').length") == 6
        assert page.events == []  # reading pixels, below, gives warnings
        given = await page.ask("DATA.flatMap((input) => input.charts.flatMap(([, charts]) => charts)).length")
        assert await page.ask("document.querySelectorAll('figure').length") == given >= 12 + 12 + 15 + 15 + 1 + 1
        for wrong in (BLANK, CLIPPED, COVERED, UNREAD):
            assert await page.ask(wrong) == []
        for number in (1, 2, 3, 4):
            assert int(await page.ask(_of(number, "painted"))) >= 5
        assert await page.ask("document.querySelectorAll('.flame button').length") >= 5
        assert await page.ask("document.documentElement.scrollWidth - innerWidth") <= 0
        ground = await page.ask("getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(20, 23, 28)" if dark else "rgb(255, 255, 255)")


async def test_sessions_are_searched_sorted_opened_and_addressed(url: str) -> None:
    async with chromium() as page:
        await page.open(url)
        rows = "document.querySelectorAll('#input-1 .tall tbody tr[data-row]')"
        await page.move("#input-1 input[type=search]", click=True)
        await page.call("Input.insertText", text="session-12")
        assert await page.ask(f"{rows}.length") == 1
        await page.move("#input-1 .tall td button", click=True)
        assert await page.ask("location.hash") == "#input-1&s=12"
        titles = "[...document.querySelectorAll('#input-1 h3')].map((h) => h.textContent).join()"
        assert "session-12" in await page.ask(titles)
        await page.ask("history.back()")
        await page.drawn()
        assert page.events == []


async def test_an_address_opens_its_session_and_unfolds_the_agent_of_its_request(url: str) -> None:
    async with chromium() as page:
        await page.open(url + "#input-1&s=3&t=2")
        assert await page.ask("document.querySelector('#input-1 .chosen').dataset.row") == "2"
        assert await page.ask("document.querySelector('#input-1 .here span').textContent") == "request 2"
        assert await page.ask(_of(1, "at")) == "2"
        row = "document.querySelector('#input-1 .here').getBoundingClientRect().top"
        assert await page.ask(f"{row} > 0 && {row} < innerHeight")
        assert "known by id" in await page.ask("document.querySelector('#input-1 .facts-of-bar').textContent")


async def test_bars_rows_and_runs_lead_to_each_other(url: str) -> None:
    async with chromium() as page:
        await page.open(url)
        await page.move("#input-1 .flame > button:last-of-type", click=True)
        request = await page.ask("document.querySelector('#input-1 .here span').textContent.split(' ')[1]")
        assert await page.ask("location.hash") == f"#input-1&s=1&t={request}"
        await _show(page, CANVAS.format(1))
        await page.point(CANVAS.format(1), 160, 39, click=True)
        assert await page.ask("document.querySelector('#input-1 .here span').textContent") == "request 0"
        await _show(page, CANVAS.format(3))
        await page.point(CANVAS.format(3), 160, 39, click=True)
        assert await page.ask("location.hash") == "#input-3&s=2&t=0"
        assert await page.ask("document.querySelector('#input-3 .here span').textContent") == "request 0"
        await page.move("#input-6 .point", click=True)
        assert await page.ask("document.querySelector('#input-6 .name').textContent") == "run 4, concurrency 4"
        await page.move("#input-6 .name", click=True)
        assert await page.ask("location.hash") == "#input-3"
        assert page.events == []


async def test_a_timeline_is_zoomed_moved_and_walked(url: str) -> None:
    async with chromium() as page:
        await page.open(url)
        canvas, span = CANVAS.format(1), f"{_of(1, 'span')}.split(' ').map(Number)"
        await _show(page, canvas)
        top = await page.ask("scrollY")
        await page.wheel(canvas, -400, shift=True)
        left, right = await page.ask(span)
        assert 0 < left < right < 1
        assert await page.ask("scrollY") == top
        await page.drag(canvas, 200)
        moved = await page.ask(span)
        assert moved[0] < left
        assert moved[1] - moved[0] == pytest.approx(right - left)
        await page.ask(f"document.querySelector('{canvas}').focus()")
        await page.key("0")
        assert await page.ask(span) == [0, 1]
        await page.key("+")
        assert await page.ask(span) == [0.25, 0.75]
        for _ in range(2):
            await page.key("ArrowRight")
        assert "request1" in await page.ask("document.querySelector('#input-1 .facts-of-bar').textContent")
        await page.key("Enter")
        assert await page.ask("location.hash") == "#input-1&s=1&t=1"
        assert page.events == []


async def test_the_pointer_says_how_many_requests_ran(url: str) -> None:
    async with chromium() as page:
        await page.open(url)
        canvas = CANVAS.format(3)
        await _show(page, canvas)
        await page.point(canvas, 160, 39)
        assert "in flight" in await page.ask("document.querySelector('#input-3 .counts').textContent")


async def test_a_run_is_laid_out_by_conversation_when_asked(url: str) -> None:
    async with chromium() as page:
        await page.open(url)
        before = await page.ask(f"document.querySelector('{CANVAS.format(3)}').clientHeight")
        await page.ask(
            "(() => { const way = document.querySelector('#input-3 select'); way.selectedIndex = 1;"
            "way.dispatchEvent(new Event('change')); })()"
        )
        await page.drawn()
        assert await page.ask(f"document.querySelector('{CANVAS.format(3)}').clientHeight") > before
        assert page.events == []


async def test_edges_are_coloured_by_evidence_when_asked(url: str) -> None:
    async with chromium() as page:
        await page.open(url)
        await page.ask(
            "(() => { const way = document.querySelector('#input-1 select'); way.selectedIndex = 1;"
            "way.dispatchEvent(new Event('change')); })()"
        )
        await page.drawn()
        words = "[...document.querySelectorAll('#input-1 .tools')].map((n) => n.textContent).join()"
        assert "tool result (1)" in await page.ask(words)
        assert page.events == []


async def test_pointing_at_a_chart_says_its_numbers_and_charts_of_time_follow_each_other(url: str) -> None:
    async with chromium() as page:
        await page.open(url)
        await page.move("#input-1 figure .u-over")
        said = await page.ask("document.querySelector('#input-1 figure > p').textContent")
        assert "of those drawn up to here" in said
        await page.move("#input-3 figure:nth-of-type(2) .u-over")
        notes = "[...document.querySelectorAll('#input-3 figure > p')].map((p) => p.textContent)"
        times = [note.split(":")[0] for note in await page.ask(notes)]
        assert max(times.count(time) for time in times) >= 10


async def test_a_stretch_of_time_is_enlarged_in_all_linked_charts_and_given_back(url: str) -> None:
    async with chromium() as page:
        await page.open(url)
        chart = "#input-3 .charts:nth-of-type(n) figure:nth-of-type(2) .u-over"
        ranges = (
            "[...document.querySelectorAll('#input-3 figure')].map((f) => f.plot().scales.x).map((x) => x.max - x.min)"
        )
        before = await page.ask(ranges)
        await _show(page, chart)
        await page.drag(chart, 100)
        after = await page.ask(ranges)
        assert sum(a < b for a, b in zip(after, before, strict=True)) >= 10
        assert page.events == []


async def test_much_data_travels_packed_and_is_drawn_as_it_comes_into_sight(make_session: Make, tmp_path: Path) -> None:
    session = make_session([(0, n, n + 0.5) for n in range(4000)])
    path = tmp_path / "page.html"
    path.write_text(render_page([SessionsInput("large", [session])]))
    assert path.stat().st_size < 250_000
    async with chromium() as page:
        await page.open(path.as_uri() + "#input-1&s=1&t=3999")
        assert int(await page.ask(_of(1, "painted"))) > 500  # no more fit beside each other
        assert await page.ask("document.querySelectorAll('.flame button').length") < 100
        assert await page.ask("document.querySelector('.here span').textContent") == "request 3999"
        assert page.events == []


async def test_inputs_with_nothing_in_them_are_drawn_without_complaint(
    make_session: Make, make_sent: Make, tmp_path: Path
) -> None:
    never = make_sent(sent_us=None, first_token_us=None, last_token_us=None, end_us=None, error="cut")
    nothing = replace(make_session([(0, 0, 1)]), requests=())
    given: list[PageInput] = [
        SessionsInput("no sessions", []),
        SessionsInput("no requests", [nothing]),
        CapturesInput("nothing heard", []),
        RunInput("nothing sent", Run({}, (never,), {})),
        RunInput("empty", Run({}, (), {})),
        CalibrationInput("nothing fitted", {}),
    ]
    path = tmp_path / "page.html"
    path.write_text(render_page(given))
    async with chromium() as page:
        await page.open(path.as_uri() + "#input-4&s=2")
        assert await page.ask("document.querySelectorAll('section').length") == len(given) + 1
        assert "Nothing of it was sent." in await page.ask("document.querySelector('#input-4').textContent")
        assert page.events == []
