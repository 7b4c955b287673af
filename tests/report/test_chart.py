from __future__ import annotations

from report.chart import Axis, Chart, Guide, Series, draw_chart


def test_a_chart_travels_as_columns_with_its_question_and_direction() -> None:
    marks = Series("runs", "first", "marks", (1.0,), (2.0,), words=("a",), links=("#input-1",))
    given = Chart(
        "Which?", "Up is better.", Axis("x", "tps"), Axis("y", "us", log=True), [marks], [Guide(1, "p50 1")], ["n"]
    )
    assert draw_chart(given) == {
        "title": "Which?",
        "better": "Up is better.",
        "x": ["x", "tps", False],
        "y": ["y", "us", True],
        "series": [
            {
                "name": "runs",
                "paint": "first",
                "shape": "marks",
                "x": [1.0],
                "y": [2.0],
                "words": ["a"],
                "links": ["#input-1"],
            }
        ],
        "guides": [[1, "p50 1"]],
        "notes": ["n"],
    }
