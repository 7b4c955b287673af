from __future__ import annotations

from report.chart import Axis, Chart, Guide, Series, draw_chart
from tests.report.listed import listed


def test_a_chart_travels_as_columns_with_its_question_and_direction() -> None:
    marks = Series("runs", "first", "marks", (1.0,), (2.0,), words=("a",), links=("#input-1",))
    given = Chart(
        "Which?", "Up is better.", Axis("x", "tps"), Axis("y", "us", log=True), [marks], [Guide(1, "p50 1")], ["n"]
    )
    assert listed(draw_chart(given)) == {
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
        "guides": [[1, "p50 1", ""]],
        "notes": ["n"],
        "linked": False,
    }


def test_many_points_in_time_are_rounded_to_less_than_a_pixel() -> None:
    many = Series("s", "first", "dots", range(0, 30_000_000, 1000), [0] * 30_000)
    few = Series("s", "first", "dots", range(100), [0] * 100)
    chart = Chart("", "", Axis("t", "us"), Axis("y", "us"), [many, few], linked=True)
    assert [series["x"].step for series in draw_chart(chart)["series"]] == [299, 1]
