from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.server_metrics import ServerSample
from report.comparison_view import ComparedRun, frontier, has_offload, view_comparison
from tests.report.listed import listed

_points = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)))


@given(_points)
def test_nothing_beats_the_frontier_and_all_else_is_beaten(points: list[tuple[float, float]]) -> None:
    best = frontier(points)
    assert best == sorted(best)

    def beaten(x: float, y: float) -> bool:
        return any(a >= x and b >= y and (a, b) != (x, y) for a, b in points)

    assert set(best) == {(x, y) for x, y in points if not beaten(x, y)}


def test_runs_have_their_name_and_address_and_the_unknown_is_named() -> None:
    summary = {"interactivity_tps": {"p90": 20.0}, "throughput_tps": 900.0}
    runs = [ComparedRun("a", "#input-1", summary, False), ComparedRun("b", "#input-3", {}, True)]
    (_, (chart,)), *_ = listed(view_comparison(runs))["charts"]
    marks = chart["series"][1]
    assert (marks["x"], marks["y"], marks["words"], marks["links"]) == ([20.0], [900.0], ["a"], ["#input-1"])
    assert chart["notes"] == ["1 runs", "not drawn, its numbers are unknown: b"]


def test_runs_with_offload_are_marked() -> None:
    summary = {"interactivity_tps": {"p90": 20.0}, "throughput_tps": 900.0}
    runs = [ComparedRun("a", "#input-1", summary, True)]
    (_, (chart,)), *_ = listed(view_comparison(runs))["charts"]
    assert [(s["name"], s["shape"], len(s["x"])) for s in chart["series"]][1:] == [
        ("runs", "marks", 0),
        ("runs with KV offload", "rings", 1),
    ]


@pytest.mark.parametrize(
    ("label", "told", "expected"), [("dram", 0, True), ("off", 9, False), (None, 9, True), (None, 0, False)]
)
def test_offload_is_what_the_label_says_or_else_what_the_server_did(
    label: str | None, told: float, expected: bool
) -> None:
    labels = {} if label is None else {"offload": label}
    assert has_offload({"labels": labels}, [ServerSample(0, "s", "dram_query_tokens", told)]) is expected
