from __future__ import annotations

from dagbuild.fan_out import overlapping


def test_spans_are_cut_where_nothing_runs_and_touching_is_no_overlap() -> None:
    spans = [(0, 5, "a"), (1, 2, "b"), (4, 6, "c"), (6, 7, "d"), (9, 9, "e"), (9, 10, "f")]
    assert overlapping(spans) == [["a", "b", "c"], ["d"], ["e"], ["f"]]


def test_nothing_gives_nothing() -> None:
    assert overlapping([]) == []
