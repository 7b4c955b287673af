"""What the scraped servers did while warming up and while profiling, apart: the `server` part of `summary.json`; pure.

Counters are differences over the phase, as the sample at its bound says, or a straight line between the two around it
where none is near; gauges are the mean over time and the most.
Sources are added up (a share of memory is averaged), so give either a router or the engines behind it, not both.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from corpus.server_metrics import METRICS, ServerSample

Points = list[tuple[int, float]]  # of one metric of one source: moment, value

# ratio -> what of what
_RATIOS: Final[Mapping[str, tuple[str, str]]] = {
    "hbm_hit_rate": ("hbm_hit_tokens", "hbm_query_tokens"),
    "dram_hit_rate": ("dram_hit_tokens", "dram_query_tokens"),
    "spec_acceptance": ("spec_accepted_tokens", "spec_draft_tokens"),
}
_NEAR_US: Final = 250_000  # a scrape in flight while the phase changed
_AVERAGED: Final = frozenset({"kv_used_share"})  # over sources


def summarise_server(
    samples: Iterable[ServerSample], profile_start_us: int | None, end_us: int | None
) -> dict[str, dict[str, Any]]:
    """`warmup` and `profile`, each metric -> an amount, or {mean, max}; without what no source tells."""
    series: dict[str, dict[str, Points]] = {}
    first_us = last_us = 0
    for sample in samples:
        series.setdefault(sample.name, {}).setdefault(sample.source, []).append((sample.at_us, sample.value))
        last_us = max(last_us, sample.at_us)
    turn_us = last_us if profile_start_us is None else profile_start_us
    stop_us = last_us if end_us is None else end_us
    return {
        "warmup": _phase(series, first_us, turn_us),
        "profile": _phase(series, turn_us, stop_us) if profile_start_us is not None else {},
    }


def queue_share(phase: Mapping[str, Any]) -> float | None:
    """Of the time from a request's arrival to its first token, how much it waited to be computed."""
    queue, prefill = phase.get("queue_s"), phase.get("prefill_s")
    if queue is None or prefill is None or queue + prefill <= 0:
        return None
    return float(queue / (queue + prefill))


def _phase(series: Mapping[str, Mapping[str, Points]], start_us: int, end_us: int) -> dict[str, Any]:
    if end_us <= start_us:
        return {}
    found: dict[str, Any] = {}
    for name, metric in METRICS.items():
        sources = [points for points in series.get(name, {}).values() if points]
        if not sources:
            continue
        if metric.kind == "counter":
            found[name] = round(sum(_grown(points, start_us, end_us) for points in sources), 6)
        elif gauge := _gauge(name, sources, start_us, end_us):
            found[name] = gauge
    if "energy_j" not in found and "power_w" in found:
        found["energy_j"] = round(found["power_w"]["mean"] * (end_us - start_us) / 1e6, 6)
    for name, (part, whole) in _RATIOS.items():
        if found.get(whole):
            found[name] = found.get(part, 0.0) / found[whole]
    return found


def _grown(points: Points, start_us: int, end_us: int) -> float:
    """By how much a counter grew; a server that was started again counts on from zero."""
    total, risen = 0.0, [(points[0][0], 0.0)]
    for (_, before), (at_us, value) in pairwise(points):
        total += value - before if value >= before else value
        risen.append((at_us, total))
    return _at(risen, end_us) - _at(risen, start_us)


def _at(points: Points, moment_us: int) -> float:
    near_us, near = min(points, key=lambda point: abs(point[0] - moment_us))
    if abs(near_us - moment_us) <= _NEAR_US:
        return near
    after = bisect_right(points, moment_us, key=lambda point: point[0])
    if after == 0:
        return points[0][1]
    if after == len(points):
        return points[-1][1]
    (left_us, left), (right_us, right) = points[after - 1], points[after]
    return left + (right - left) * (moment_us - left_us) / (right_us - left_us)


def _gauge(name: str, sources: Sequence[Points], start_us: int, end_us: int) -> dict[str, float]:
    told = [held for points in sources if (held := _held(points, start_us, end_us))]
    if not told:
        return {}
    means, highest = [_mean(held, end_us) for held in told], [max(value for _, value in held) for held in told]
    share = len(told) if name in _AVERAGED else 1
    most = max(highest) if name in _AVERAGED else sum(highest)
    return {"mean": round(sum(means) / share, 6), "max": round(most, 6)}


def _held(points: Points, start_us: int, end_us: int) -> Points:
    """A value holds until the next sample; what was told last before the phase holds at its beginning."""
    before = [(start_us, value) for at_us, value in points if at_us <= start_us][-1:]
    return before + [(at_us, value) for at_us, value in points if start_us < at_us < end_us]


def _mean(held: Points, end_us: int) -> float:
    ends = [at_us for at_us, _ in held[1:]] + [end_us]
    weighted = sum(value * (until - at_us) for (at_us, value), until in zip(held, ends, strict=True))
    return weighted / (end_us - held[0][0])
