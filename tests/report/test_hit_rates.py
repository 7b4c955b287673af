from __future__ import annotations

from collections.abc import Callable

from rich.console import Console, RenderableType

from corpus.session import Session
from report.cache_pass import CacheSetup
from report.hit_rates import render_simulation
from report.lanes import prompts_of
from report.simulation import simulate

Make = Callable[..., Session]


def written(renderable: RenderableType) -> str:
    console = Console(width=120, color_system=None)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


def corpus(make_session: Make) -> list[Session]:
    lists = [list(range(1, 401 + 100 * n)) for n in range(5)]
    return [make_session([(0, float(n), n + 0.5) for n in range(5)], prompts=lists, session=s) for s in range(2)]


def test_a_row_a_capacity_with_a_bar_as_long_as_its_hits(make_session: Make) -> None:
    prompts = [prompts_of(session, 10**9) for session in corpus(make_session)]
    text = written(render_simulation(simulate(prompts, CacheSetup(lanes=2), [0, 64 * 1600])))
    rows = [line for line in text.splitlines() if "%" in line][-2:]
    assert rows[0].split() == ["0", "0.0", "%"]
    assert rows[1].count("█") == round(40 * 2200 / 3000)
    assert "higher is better" in text
    assert "DRAM" not in text
    assert "2 sessions, 10 requests" in text


def test_tiers_have_their_own_shade_and_column(make_session: Make) -> None:
    prompts = [prompts_of(session, 10**9) for session in corpus(make_session)]
    setup = CacheSetup(lanes=2, dram_tokens=64 * 1100, nvme_tokens=64 * 1600, ranks=1)
    text = written(render_simulation(simulate(prompts, setup, [64 * 900])))
    assert all(name in text for name in ("█ HBM", "▓ DRAM", "░ NVMe"))
    last = text.splitlines()[-1]
    assert all(glyph in last for glyph in "█▓░")


def test_an_empty_corpus_shows_dashes_and_ranks_say_how_they_are_chosen(make_session: Make) -> None:
    assert "-" in written(render_simulation(simulate([], CacheSetup(), [64]))).splitlines()[-1]
    setup = CacheSetup(lanes=2, ranks=2, routing="prefix")
    assert "2 ranks by prefix" in written(render_simulation(simulate([], setup)))
