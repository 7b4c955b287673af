from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corpus.blocks import SHARED_FROM
from corpus.formats.weka import read_weka
from corpus.session import Attempt, Session
from report.anomalies import MEANINGS, count_anomalies, missing_ids, unchained_ids
from report.stats import collect_stats

Make = Callable[..., Session]
WEKA = Path(__file__).resolve().parents[2].parent / "shared" / "traces" / "weka"


_TRY = Attempt(1000, None, "timeout", None, repeated=True)
FAILED: dict[str, Any] = {"model": 1, "status": 529, "attempts": (_TRY, _TRY)}


def test_plain_session_has_none(make_session: Make) -> None:
    session = make_session([(0, 0, 1.5), (0, 2.25, 3)], prompts=[[1, 2], [1, 2, 3]])
    assert not +count_anomalies(session)


def test_each_kind_is_counted_once(make_session: Make) -> None:
    session = make_session(
        [(0, 0, None), (0, 1, 9), (0, 5, 6), (0, 7, 8), (0, 10.5, 11)],
        {1: {"output_tokens": 0}, 2: {"model": 1}, 3: {"model": 1, "retry_of": 2}, 4: FAILED},
        prompts=[[1, 2, 3, 4], [1, 2, 3, 4], [1, 7], [9], []],
    )
    assert dict(+count_anomalies(session)) == {
        "missing_api_time": 1,
        "zero_output": 1,
        "empty_prompt": 1,
        "negative_gap": 1,  # request 2 within 1; 0 has no known end
        "overlap_over_1s": 1,
        "several_models": 1,
        "model_switch": 1,
        "retry": 1,
        "folded_attempt": 2,
        "not_complete": 1,
        "prefix_halved": 1,
        "zero_prefix": 1,
        "no_blocks": 1,
        "non_dense_ids": 3,  # 5, 6, 8
    }


def test_subagents_on_another_model_are_no_switch(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (1, 2, 3), (0, 4, 5)], {1: {"model": 1}})
    assert count_anomalies(session)["model_switch"] == 0
    assert count_anomalies(session)["several_models"] == 0


def test_overlaps_within_a_second_are_told_from_longer_ones(make_session: Make) -> None:
    counts = count_anomalies(make_session([(0, 0, 3), (0, 2.5, 6), (0, 4, 7)]))
    assert (counts["negative_gap"], counts["overlap_over_1s"]) == (2, 1)


def test_whole_seconds_of_the_main_agent_are_a_coarse_clock(make_session: Make) -> None:
    assert count_anomalies(make_session([(0, 0, 1), (0, 2, 3), (1, 2.5, 3), (0, 4, 5)]))["coarse_clock"] == 1
    assert count_anomalies(make_session([(0, 0, 1), (0, 2, 3), (0, 4.5, 5)]))["coarse_clock"] == 0


def test_order_and_equal_starts_are_seen(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (0, 2, 3), (0, 2, 3)], {0: {"position": 2}, 2: {"position": 0}})
    assert (count_anomalies(session)["equal_start"], count_anomalies(session)["out_of_order"]) == (1, 2)


def test_repeated_rows_of_an_import_are_counted(make_session: Make) -> None:
    rows = [(0, 0, 1), (0, 2, 3), (0, 2, 3), (1, 2, 3)]
    assert count_anomalies(make_session(rows, source_format="weka"))["duplicate_request"] == 1
    assert count_anomalies(make_session(rows))["duplicate_request"] == 0


def test_lists_and_prompts_that_disagree_are_counted_for_imports(make_session: Make) -> None:
    tokens = {n: {"input_tokens": 100} for n in range(1, 4)} | {3: {"input_tokens": 200}}
    rows = [(0, n, n + 0.5) for n in range(4)]
    session = make_session(rows, tokens, prompts=[[1], [1], [1, 2], [1]], source_format="weka")
    counts = count_anomalies(session)
    assert {name: counts[name] for name in ("tail_without_id", "partial_block_id", "short_list")} == {
        "tail_without_id": 1,
        "partial_block_id": 1,
        "short_list": 1,
    }
    assert count_anomalies(replace(session, source_format="capture"))["tail_without_id"] == 0


@pytest.mark.parametrize(
    ("prompts", "again"),
    [([[1, 2], [1, 2, 3]], 0), ([[1, 2], [2, 1]], 2), ([[1, 1]], 1), ([[1, 2, 3], [9, 3]], 1)],
)
def test_ids_that_name_no_prefix_are_seen(make_session: Make, prompts: list[list[int]], again: int) -> None:
    session = make_session([(0, n, n + 0.5) for n in range(len(prompts))], prompts=prompts)
    assert unchained_ids(session) == again


def test_missing_ids_are_those_between_known_ones(make_session: Make) -> None:
    assert missing_ids(make_session([(0, 0, 1)], prompts=[[5, 6, 9]])) == 2


def test_ids_that_sessions_share_leave_no_gap(make_session: Make) -> None:
    shared = make_session([(0, 0, 1)], prompts=[[SHARED_FROM + 7, SHARED_FROM + 3, 1, 2]])
    assert missing_ids(shared) == 0


def test_every_name_is_explained(make_session: Make) -> None:
    counted = set(collect_stats([make_session([(0, 0, 1)])])["anomalies"])
    assert counted == set(MEANINGS)
    assert set(count_anomalies(make_session([(0, 0, 1)]))) <= set(MEANINGS)
    assert all(anomaly.meaning and anomaly.treatment for anomaly in MEANINGS.values())


@pytest.mark.skipif(not WEKA.is_dir(), reason="the public traces are not on this machine")
def test_public_traces_show_the_anomalies_they_are_known_for() -> None:
    """Figures from measurements of these files by other code."""
    known = {
        "0004": {"non_dense_ids": 30423, "group_without_join": 2},
        "0014": {"zero_total_tokens": 1, "non_dense_ids": 4721},
        "0105": {"zero_output": 4},
        "0194": {"missing_api_time": 134, "unparsed_stream": 134},
        "0256": {"duration_differs": 2, "group_time_is_end": 12},
        "0277": {"duration_differs": 1},
        "0295": {"group_launched": 4, "duration_differs": 1},
        "0300": {"overlap_over_1s": 3, "negative_gap": 3, "think_time_differs": 3},
        "0330": {"model_switch": 4},
        "0338": {"overlap_over_1s": 1, "think_time_differs": 1, "model_switch": 3},
        "0471": {"think_time_missing": 20, "missing_api_time": 21},
        "0533": {"zero_prefix": 10},
    }
    for name, expected in known.items():
        (session,) = read_weka(WEKA / f"trace_{name}.json")
        counts = count_anomalies(session)
        assert {key: counts[key] for key in expected} == expected, name
        assert counts["coarse_clock"] == 1
        assert counts["unchained_ids"] == counts["totals_differ"] == counts["short_list"] == 0
