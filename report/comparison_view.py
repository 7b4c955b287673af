"""Several runs on one chart: which setting is worth running? More of both is better; the line joins the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from corpus.server_metrics import ServerSample
from report.chart import Axis, Chart, Paint, Series, Shape, draw_chart

# with a cache behind the GPU's: how it is called and drawn
_KINDS: Final[Mapping[bool, tuple[str, Shape, Paint]]] = {
    False: ("runs", "marks", "first"),
    True: ("runs with KV offload", "rings", "dram"),
}
_NO: Final = ("", "0", "no", "none", "off", "false")


@dataclass(frozen=True, slots=True)
class ComparedRun:
    name: str
    link: str  # inside the page
    summary: Mapping[str, Any]
    offload: bool  # the server had a cache behind the one in GPU memory


def has_offload(config: Mapping[str, Any], samples: Sequence[ServerSample]) -> bool:
    """As the run's label `offload` says, or else when the server looked tokens up in such a cache."""
    label = (config.get("labels") or {}).get("offload")
    if label is not None:
        return str(label).lower() not in _NO
    return any(sample.name == "dram_query_tokens" and sample.value > 0 for sample in samples)


def view_comparison(runs: Sequence[ComparedRun]) -> dict[str, Any]:
    """A run without either number is named and not drawn."""
    places = [(run, _interactivity(run.summary), run.summary.get("throughput_tps")) for run in runs]
    drawn = [(run, x, y) for run, x, y in places if x is not None and y is not None]
    missing = [run.name for run, x, y in places if x is None or y is None]
    best = frontier([(x, y) for _, x, y in drawn])
    chart = Chart(
        "Which setting is worth running?",
        "Further up and to the right is better. A click names a run and leads to it.",
        Axis("interactivity p90: tokens/s that 90 % of answers exceed", "tps"),
        Axis("prompt and answer tokens/s", "tps"),
        [
            Series("best of them", "second", "line", [x for x, _ in best], [y for _, y in best]),
            *(_marks([place for place in drawn if place[0].offload is offload], offload) for offload in _KINDS),
        ],
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


def _marks(places: Sequence[tuple[ComparedRun, float, float]], offload: bool) -> Series:
    name, shape, paint = _KINDS[offload]
    return Series(
        name,
        paint,
        shape,
        [x for _, x, _ in places],
        [y for *_, y in places],
        [run.name for run, *_ in places],
        [run.link for run, *_ in places],
    )


def frontier(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other beats in both numbers, from left to right."""
    best: list[tuple[float, float]] = []
    for x, y in sorted(set(points), reverse=True):
        if not best or y > best[-1][1]:
            best.append((x, y))
    return best[::-1]


def _interactivity(summary: Mapping[str, Any]) -> float | None:
    found = summary.get("interactivity_tps")
    value: float | None = found.get("p90") if isinstance(found, dict) else None
    return value
