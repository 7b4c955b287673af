"""Is a prompt as long as its provider says? What was counted here over what was billed, where 1 is right.

For a corpus, of each of its requests that the provider counted. For a calibration file, of sessions held out, by the
stages of calibration: raw, one factor a model, fitted, pinned to the counts themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from corpus.session import Session
from report.chart import Axis, Chart, Paint, Series, draw_chart
from report.wording import count

_PAINTS: Final[tuple[Paint, ...]] = ("first", "second", "cached", "output", "dram")  # then all others together
_SMALLEST: Final = 1_000  # tokens; below it the provider's own words around a prompt outweigh it
_WITHIN: Final = (1, 2, 5, 10, 25)  # percent
_BINS: Final = 12
_STAGES: Final[Mapping[str, Paint]] = {"raw": "quiet", "scaled": "second", "fitted": "first", "pinned": "cached"}
_BETTER: Final = "Nearer to 1 is better."


def draw_calibration(sessions: Sequence[Session]) -> list[dict[str, Any]]:
    """Nothing when no request of 1,000 tokens or more was counted by its provider."""
    counted = [
        (session.models[request.model], request.usage.input_tokens, request.input_tokens)
        for session in sessions
        for request in session.requests
        if request.usage is not None and request.usage.input_tokens
    ]
    points = [point for point in counted if point[1] >= _SMALLEST]
    if not points:
        return []
    small = len(counted) - len(points)
    return [draw_chart(_by_request(points, small)), draw_chart(_by_length(points))]


def view_calibration(title: str, facts: Mapping[str, str], report: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """`report` as `agentreel calibrate -o FILE` leaves it in the file: model -> stage -> percentiles and shares."""
    shown = [(model, stage, found[stage]) for model, found in report.items() for stage in _STAGES if stage in found]
    names = list(dict.fromkeys(name for *_, ratios in shown for name in ratios))
    return {
        "title": title,
        "kind": "calibration",
        "facts": list(facts.items()),
        "numbers": [_number(model, found) for model, found in report.items()],
        "spreads": {
            "title": "Tokens counted here over tokens billed, of sessions held out",
            "head": [_head(name) for name in names],
            "rows": [[f"{model}, {stage}", *(_cell(name, ratios) for name in names)] for model, stage, ratios in shown],
        },
        "charts": [
            ["How near do counts come to the provider's?", [draw_chart(_percentiles(*one)) for one in report.items()]]
        ],
        "notes": [
            f"{model}: requests under 1,000 tokens, left out: {found['small_requests_left_out']:,}"
            for model, found in report.items()
            if found.get("small_requests_left_out")
        ],
        "columns": [],
        "rows": [],
        "views": [],
    }


def _by_request(points: Sequence[tuple[str, int, int]], small: int) -> Chart:
    often = Counter(model for model, *_ in points).most_common()
    kept = [model for model, _ in often[: len(_PAINTS)]]
    named = [(model, paint, [p for p in points if p[0] == model]) for model, paint in zip(kept, _PAINTS, strict=False)]
    others = [point for point in points if point[0] not in kept]
    ratios = np.array([here / billed for _, billed, here in points])
    near = ", ".join(f"{100 * (np.abs(ratios - 1) <= p / 100).mean():.1f} % within {p} %" for p in _WITHIN)
    billed = [billed for _, billed, _ in points]
    left_out = [f"under 1,000 tokens, not drawn: {small:,}"] if small else []
    return Chart(
        "Is a prompt as long as its provider says?",
        _BETTER,
        Axis("prompt tokens as the provider counts", "tokens", log=True),
        Axis("tokens here over tokens billed", "ratio"),
        [
            *(_dots(model, paint, of_model) for model, paint, of_model in named),
            *([_dots(f"{len(often) - len(kept)} others", "quiet", others)] if others else []),
            Series("as billed", "failed", "line", [min(billed), max(billed)], [1, 1]),
        ],
        notes=[f"{len(points):,} requests", near, *left_out],
    )


def _dots(name: str, paint: Paint, points: Sequence[tuple[str, int, int]]) -> Series:
    return Series(name, paint, "dots", [b for _, b, _ in points], [round(here / b, 4) for _, b, here in points])


def _by_length(points: Sequence[tuple[str, int, int]]) -> Chart:
    """Percentiles of the ratio, of requests alike in length."""
    billed = np.array([b for _, b, _ in points], dtype=float)
    ratios = np.array([here for *_, here in points]) / billed
    edges = np.geomspace(billed.min(), billed.max() * 1.0001, _BINS + 1)
    bins = np.clip(np.searchsorted(edges, billed, side="right") - 1, 0, _BINS - 1)
    filled = [n for n in range(_BINS) if (bins == n).any()]
    middle = [float(np.median(billed[bins == n])) for n in filled]
    wanted: tuple[tuple[int, Paint], ...] = ((95, "second"), (50, "first"), (5, "cached"))
    return Chart(
        "Does the ratio depend on the length?",
        "Flat and near 1 is better.",
        Axis("prompt tokens as the provider counts", "tokens", log=True),
        Axis("tokens here over tokens billed", "ratio"),
        [
            *(
                Series(
                    f"p{p}",
                    paint,
                    "line",
                    middle,
                    [round(float(np.percentile(ratios[bins == n], p)), 4) for n in filled],
                )
                for p, paint in wanted
            ),
            Series("as billed", "failed", "line", [billed.min(), billed.max()], [1, 1]),
        ],
        notes=[f"{len(points):,} requests in {len(filled)} bins of length"],
    )


def _percentiles(model: str, found: Mapping[str, Any]) -> Chart:
    series = []
    for stage, paint in _STAGES.items():
        percentiles = {int(name[1:]): value for name, value in found.get(stage, {}).items() if name[1:].isdigit()}
        if percentiles:
            series.append(Series(stage, paint, "line", list(percentiles), list(percentiles.values())))
    return Chart(
        f"How near to the provider's are counts of {model}?",
        _BETTER,
        Axis("percentile of requests", "number"),
        Axis("tokens here over tokens billed", "ratio"),
        [*series, Series("as billed", "failed", "line", [0, 100], [1, 1])],
        notes=[f"{found['requests']:,} requests of {found['sessions']:,} sessions"],
    )


def _number(model: str, found: Mapping[str, Any]) -> list[str]:
    best = next((found[stage] for stage in ("fitted", "scaled", "raw") if stage in found), None)
    share = "unknown" if best is None else f"{100 * best['within_5']:.1f} %"
    return [model, share, f"of {count(found['requests'])} requests within 5 % when fitted, on sessions held out"]


def _head(name: str) -> str:
    return f"within {name.removeprefix('within_')} %" if name.startswith("within_") else name.replace("_", " ")


def _cell(name: str, ratios: Mapping[str, float]) -> str:
    if name not in ratios:
        return "-"
    return f"{100 * ratios[name]:.1f} %" if name.startswith("within_") else f"{ratios[name]:.3f}"
