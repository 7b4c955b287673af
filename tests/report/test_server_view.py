from __future__ import annotations

from typing import Any

from corpus.server_metrics import ServerSample
from report.chart import Guide
from report.server_view import draw_server
from tests.report.listed import listed

S = 1_000_000


def _told(name: str, values: list[float], source: str = "a", first: int = 0) -> list[ServerSample]:
    return [ServerSample((first + n) * S, source, name, value) for n, value in enumerate(values)]


def _chart(samples: list[ServerSample], title: str) -> dict[str, Any]:
    charts = listed(draw_server(samples, [Guide(S, "profiling starts")]))
    found: dict[str, Any] = next(chart for chart in charts if title in chart["title"])
    assert found["guides"] == [[S, "profiling starts", ""]]
    assert found["linked"]
    return found


def _columns(chart: dict[str, Any]) -> list[tuple[str, list[float], list[float]]]:
    return [(series["name"], series["x"], series["y"]) for series in chart["series"]]


def test_requests_of_all_sources_are_added_and_memory_is_averaged() -> None:
    samples = [*_told("running", [1, 2, 3]), *_told("running", [10, 10], "b", first=1), *_told("waiting", [0, 1, 0])]
    samples += [*_told("kv_used_share", [0.2, 0.4, 0.4]), *_told("kv_used_share", [0.4, 0.6, 0.8], "b")]
    assert _columns(_chart(samples, "queue")) == [
        ("running", [0, S, 2 * S], [1, 12, 13]),
        ("waiting", [0, S, 2 * S], [0, 1, 0]),
    ]
    assert _columns(_chart(samples, "KV cache")) == [("KV cache in use", [0, S, 2 * S], [0.3, 0.5, 0.6])]


def test_counters_become_rates_that_hold_until_the_next_scrape() -> None:
    samples = [*_told("prompt_tokens", [0, 100, 400]), *_told("output_tokens", [5, 15, 15])]
    assert _columns(_chart(samples, "tokens a second")) == [("input", [0, S], [100, 300]), ("decode", [0, S], [10, 0])]


def test_hits_are_of_what_was_looked_up_and_a_tier_that_was_never_asked_is_left_out() -> None:
    samples = [*_told("hbm_query_tokens", [0, 100, 100, 200]), *_told("hbm_hit_tokens", [0, 50, 50, 125])]
    samples += [*_told("dram_query_tokens", [0, 0, 0, 0]), *_told("dram_hit_tokens", [0, 0, 0, 0])]
    assert _columns(_chart(samples, "caches hold")) == [("HBM", [0, 2 * S], [0.5, 0.75])]


def test_sources_of_prompt_tokens_stand_on_each_other() -> None:
    samples = [*_told("prompt_local_hit_tokens", [0, 10]), *_told("prompt_computed_tokens", [0, 30])]
    local, computed = _chart(samples, "come from")["series"]
    assert (local["base"], local["y"]) == ([0, 0], [10, 0])
    assert (computed["base"], computed["y"]) == ([10, 0], [40, 0])


def test_nothing_told_is_nothing_drawn() -> None:
    assert draw_server([], []) == []
