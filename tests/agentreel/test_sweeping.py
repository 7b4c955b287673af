from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentreel.sweeping import (
    concurrencies_of,
    is_finished,
    is_on_front,
    point_settings,
    settings_of_group,
    short_number,
    told,
)
from corpus.errors import InputError
from corpus.run import write_run
from replay.settings import ReplaySettings

SETTINGS = ReplaySettings("http://127.0.0.1:1", "m", Path("sweep"), "deepseek-v4", seed=42)


def row(interactivity: float | None, throughput: float | None) -> dict[str, Any]:
    return {"interactivity_p90_tps": interactivity, "throughput_tps_per_chip": throughput}


def test_concurrencies_are_sorted_and_counted_once() -> None:
    assert concurrencies_of("8,1, 2,8") == [1, 2, 8]


@pytest.mark.parametrize("text", ["", "1,,2", "0", "-1", "a", "1.5"])
def test_what_is_no_list_of_numbers_is_told(text: str) -> None:
    with pytest.raises(InputError, match="no list of numbers"):
        concurrencies_of(text)


def test_nothing_better_in_both_is_on_the_front() -> None:
    rows = [row(100, 10), row(80, 30), row(70, 20), row(10, 40), row(None, 50), row(100, 10)]
    assert [is_on_front(one, rows) for one in rows] == [True, True, False, True, False, True]


def test_a_point_that_finds_the_others_in_the_cache_sends_other_content() -> None:
    clean = point_settings(SETTINGS, "all", 8, cache_is_empty=True)
    assert (clean.seed, clean.concurrency, clean.out) == (42, 8, Path("sweep/all/concurrency-8"))
    assert point_settings(SETTINGS, "all", 8, cache_is_empty=False).seed == 50


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (0, "0"), (14_110.4, "14,110"), (0.0497, "0.0497"), (99.96, "100"), (3, "3")]
)
def test_numbers_in_the_table_are_short_and_plain(value: float | None, text: str) -> None:
    assert short_number(value) == text


def test_a_point_is_told_in_a_line_when_it_is_over() -> None:
    numbers = {"requests": 50, "errors": 1, "ttft_s": {"p90": 0.06033}, "interactivity_tps": {"p90": 907.1}}
    whole = {**numbers, "throughput_tps_per_chip": 14_113.2, "interrupted": False, "problem": ""}
    said = "50 requests, 1 errors, TTFT p90 0.0603 s, interactivity p90 907 tok/s, 14,113 tok/s a chip"
    assert told(whole) == said
    assert told({**whole, "problem": "too many failed"}) == "stopped: too many failed"
    assert told({**whole, "interrupted": True}) == "stopped: interrupted"


def test_only_a_run_that_went_to_its_end_is_kept(tmp_path: Path) -> None:
    summaries: dict[str, dict[str, Any]] = {"done": {}, "cut": {"interrupted": True}, "failed": {"problem": "too many"}}
    for name, summary in summaries.items():
        write_run(tmp_path / name, {}, [], summary)
    assert [is_finished(tmp_path / name) for name in ("done", "cut", "failed", "missing")] == [
        True,
        False,
        False,
        False,
    ]


def test_a_group_is_decided_by_everything_but_what_each_point_has_of_its_own() -> None:
    decided = settings_of_group(SETTINGS)
    assert (decided["seed"], decided["duration_s"]) == (42, 3600)
    assert not decided.keys() & {"concurrency", "engine", "version", "workers"}
