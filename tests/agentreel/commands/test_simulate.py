from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]
SAMPLE = Path(__file__).resolve().parents[3] / "samples" / "corpus"


def test_json_has_a_hit_rate_for_every_capacity(agentreel: Call) -> None:
    said = agentreel("simulate", SAMPLE, "--capacity-tokens", "10000,1000000", "--concurrency", "2", "--json")
    assert (said.code, said.err) == (0, "")
    document = json.loads(said.out)
    points = document["capacities"]
    assert [point["capacity_tokens"] for point in points] == [10_000, 1_000_000]
    assert 0 <= points[0]["hit_rate"] < points[1]["hit_rate"] == document["infinite_hit_rate"] < 1
    assert document["concurrency"] == 2


def test_an_unlimited_cache_serves_what_stats_says_the_sessions_repeat(agentreel: Call) -> None:
    document = json.loads(agentreel("simulate", SAMPLE, "--json").out)
    stats = json.loads(agentreel("stats", SAMPLE, "--json").out)
    assert document["infinite_hit_rate"] == pytest.approx(stats["in_session_prefix_hit"], abs=0.02)


def test_every_option_reaches_the_simulation(agentreel: Call) -> None:
    options = ("--policy", "session-aware", "--dram-tokens", 20_000, "--nvme-tokens", 40_000, "--ttl", "0.001")
    ranks = ("--ranks", 2, "--routing", "prefix", "--idle-cap", 1, "--answers-stay")
    document = json.loads(agentreel("simulate", SAMPLE, *options, *ranks, "--json").out)
    assert (document["policy"], document["routing"], document["ranks"]) == ("session-aware", "prefix", 2)
    assert (document["dram_tokens"], document["nvme_tokens"], document["ttl_s"]) == (20_000, 40_000, 0.001)
    assert document["answers_stay"]
    assert all(point["hit_rate"] < 0.5 for point in document["capacities"])  # lost before the next turn


def test_text_is_a_curve_for_people(agentreel: Call) -> None:
    said = agentreel("simulate", SAMPLE)
    assert (said.code, said.err) == (0, "")
    assert "higher is better" in said.out


@pytest.mark.parametrize("given", ["many", "1,,2", "-5"])
def test_a_capacity_that_is_no_number_is_wrong_usage(agentreel: Call, given: str) -> None:
    said = agentreel("simulate", "anything", f"--capacity-tokens={given}")
    assert said.code == 2
    assert "capacity" in said.err


def test_a_missing_source_is_one_line(agentreel: Call, tmp_path: Path) -> None:
    said = agentreel("simulate", tmp_path / "nothing")
    assert (said.code, said.err.count("\n")) == (1, 1)
