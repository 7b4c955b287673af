"""Several runs on one chart: which setting is worth running? More of both is better; the line joins the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from report.chart import Axis, Chart, Series, draw_chart

Summary = Mapping[str, Any]


def view_comparison(runs: Sequence[tuple[str, str, Summary]]) -> dict[str, Any]:
    """`runs`: name, address inside the page, summary. A run without either number is named and not drawn."""
    points = [(name, link, _interactivity(summary), summary.get("throughput_tps")) for name, link, summary in runs]
    drawn = [(name, link, x, y) for name, link, x, y in points if x is not None and y is not None]
    missing = [name for name, _, x, y in points if x is None or y is None]
    best = frontier([(x, y) for _, _, x, y in drawn])
    marks = Series(
        "runs",
        "first",
        "marks",
        [x for _, _, x, _ in drawn],
        [y for *_, y in drawn],
        [name for name, *_ in drawn],
        [link for _, link, *_ in drawn],
    )
    chart = Chart(
        "Which setting is worth running?",
        "Further up and to the right is better. A click opens the run.",
        Axis("interactivity p90: tokens/s that 90 % of answers exceed", "tps"),
        Axis("prompt and answer tokens/s", "tps"),
        [Series("best of them", "second", "line", [x for x, _ in best], [y for _, y in best]), marks],
        notes=[f"{len(drawn):,} runs", *(f"not drawn, its numbers are unknown: {name}" for name in missing)],
    )
    return {
        "title": "Runs compared",
        "kind": "comparison",
        "facts": [],
        "numbers": [],
        "charts": [["Throughput against interactivity", [draw_chart(chart)]]],
        "notes": [],
        "columns": [],
        "rows": [],
        "views": [],
    }


def frontier(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other beats in both numbers, from left to right."""
    best: list[tuple[float, float]] = []
    for x, y in sorted(set(points), reverse=True):
        if not best or y > best[-1][1]:
            best.append((x, y))
    return best[::-1]


def _interactivity(summary: Summary) -> float | None:
    found = summary.get("interactivity_tps")
    value: float | None = found.get("p90") if isinstance(found, dict) else None
    return value
