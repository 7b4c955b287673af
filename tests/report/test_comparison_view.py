from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from report.comparison_view import frontier, view_comparison
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
    (_, (chart,)), *_ = listed(view_comparison([("a", "#input-1", summary), ("b", "#input-3", {})]))["charts"]
    marks = chart["series"][1]
    assert (marks["x"], marks["y"], marks["words"], marks["links"]) == ([20.0], [900.0], ["a"], ["#input-1"])
    assert chart["notes"] == ["1 runs", "not drawn, its numbers are unknown: b"]
