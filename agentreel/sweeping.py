"""A sweep: which concurrencies are still to be run, and what all runs together say; the Pareto front of each group.

A point lies on the front when no other point of its group serves its users faster and the chips more tokens at once:
interactivity at its slow tenth against tokens a second per chip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from corpus.errors import InputError
from corpus.run import is_run, read_run
from corpus.sweep import point_path, sweep_points
from replay.settings import ReplaySettings, describe

# Of a point's run, which settings.json does not hold because every point has its own, or the server decides it.
_OF_THE_POINT: Final = ("concurrency", "engine", "version", "workers")

# column -> (title, where it stands in a summary)
COLUMNS: Final[dict[str, tuple[str, Callable[[dict[str, Any]], Any]]]] = {
    "requests": ("requests", lambda s: s["requests"]),
    "errors": ("errors", lambda s: s["errors"]),
    "ttft_p90_s": ("TTFT\np90 s", lambda s: s["ttft_s"]["p90"]),
    "interactivity_p90_tps": ("inter-\nactivity\np90 tok/s", lambda s: s["interactivity_tps"]["p90"]),
    "throughput_tps_per_chip": ("tok/s\na chip", lambda s: s["throughput_tps_per_chip"]),
    "output_tps_per_chip": ("output\ntok/s\na chip", lambda s: s["output_tps_per_chip"]),
    "cache_hit_rate": ("cache\nhits", lambda s: s["cache_hit_rate"]),
    "session_slowdown_p50": ("slow-\ndown\np50", lambda s: s["session_slowdown"]["p50"]),
    "usd_per_million_tokens": ("US$\na M\ntokens", lambda s: s["usd_per_million_tokens"]),
    "output_tokens_per_joule": ("output\ntokens\na J", lambda s: s["output_tokens_per_joule"]),
}
_FRONT: Final = ("interactivity_p90_tps", "throughput_tps_per_chip")


def concurrencies_of(text: str) -> list[int]:
    """`1,2,4,8`; InputError for anything else."""
    parts = text.split(",")
    if not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise InputError("--concurrency", f"{text!r} is no list of numbers", "for example 1,2,4,8")
    return sorted({int(part) for part in parts})


def settings_of_group(settings: ReplaySettings) -> dict[str, Any]:
    """What must be the same for points to stand on one curve."""
    return {name: value for name, value in describe(settings).items() if name not in _OF_THE_POINT}


def is_finished(path: Path) -> bool:
    """A run that went to its end by its own rules."""
    if not is_run(path):
        return False
    summary = read_run(path).summary
    return not (summary.get("interrupted") or summary.get("problem"))


def point_settings(settings: ReplaySettings, group: str, concurrency: int, *, cache_is_empty: bool) -> ReplaySettings:
    """Where the cache still holds what another point sent, this one sends other content: its seed is its own."""
    seed = settings.seed if cache_is_empty else settings.seed + concurrency
    out = point_path(settings.out, group, concurrency)
    return replace(settings, out=out, concurrency=concurrency, seed=seed, force=True)


def told(summary: dict[str, Any]) -> str:
    """A point in one line, as soon as it is over."""
    if summary["interrupted"] or summary["problem"]:
        return f"stopped: {summary['problem'] or 'interrupted'}"
    ttft, interactivity, throughput = (
        short_number(COLUMNS[name][1](summary))
        for name in ("ttft_p90_s", "interactivity_p90_tps", "throughput_tps_per_chip")
    )
    return (
        f"{summary['requests']} requests, {summary['errors']} errors, TTFT p90 {ttft} s, "
        f"interactivity p90 {interactivity} tok/s, {throughput} tok/s a chip"
    )


def short_number(value: float | None) -> str:
    """Three digits, or all before the point."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def sweep_rows(path: Path) -> list[dict[str, Any]]:
    """One row a point of every group, the best of each group marked."""
    rows = [
        {"group": point.group, "concurrency": point.concurrency, "run": str(point.path), "seed": summary["seed"]}
        | {name: value(summary) for name, (_, value) in COLUMNS.items()}
        for point in sweep_points(path)
        for summary in [read_run(point.path).summary]
    ]
    for row in rows:
        row["on_front"] = is_on_front(row, [other for other in rows if other["group"] == row["group"]])
    return rows


def is_on_front(row: dict[str, Any], group: Sequence[dict[str, Any]]) -> bool:
    mine = [row[name] for name in _FRONT]
    if None in mine:
        return False
    for other in group:
        theirs = [other[name] for name in _FRONT]
        if None not in theirs and theirs != mine and all(t >= m for t, m in zip(theirs, mine, strict=True)):
            return False
    return True
