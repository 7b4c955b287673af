"""Charts about caches: which size would serve how much of these sessions, and how much live sessions hold.

The curves go through all sizes from one prompt to where nothing more is gained: for sessions one after another, and for
many at once, with and without a server that knows when a session is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from corpus.session import Session
from report.cache_pass import CacheSetup
from report.chart import Axis, Chart, Paint, Series, draw_chart
from report.lanes import Prompts, prompts_of
from report.simulation import Simulation

LANES: Final = 16
_IDLE_CAP_US: Final = 300_000_000  # as a replay's default
_SMALLEST: Final = 1 << 13  # tokens
_STEPS_AN_OCTAVE: Final = 2
_POINTS: Final = 600  # of the working set that are drawn; each is the most of those it stands for


def draw_caches(sessions: Sequence[Session]) -> list[dict[str, Any]]:
    prompts = [prompts_of(session, _IDLE_CAP_US) for session in sessions]
    lanes = min(LANES, len(prompts))
    if not any(len(of_session.blocks) for of_session in prompts):
        return []
    alone = Simulation(prompts, CacheSetup(lanes=1))
    wanted: list[tuple[str, Paint, Simulation]] = [("one session at a time", "first", alone)]
    if lanes > 1:
        many = Simulation(prompts, CacheSetup(lanes=lanes))
        aware = Simulation(prompts, CacheSetup(lanes=lanes, policy="session-aware"))
        wanted += [
            (f"{lanes} at a time", "second", many),
            (f"{lanes} at a time, finished ones forgotten first", "cached", aware),
        ]
    return [draw_chart(_hit_rates(wanted)), draw_chart(_working_set(prompts, lanes, wanted[min(1, lanes - 1)][2]))]


def _hit_rates(wanted: Sequence[tuple[str, Paint, Simulation]]) -> Chart:
    largest = max(simulation.capacity_for(1) for _, _, simulation in wanted)
    octaves = max(1.0, np.log2(max(largest, 1) / _SMALLEST))
    sizes = np.geomspace(_SMALLEST, _SMALLEST * 2**octaves, 1 + round(_STEPS_AN_OCTAVE * octaves)).astype(int).tolist()
    return Chart(
        "Which cache would serve how much?",
        "higher is better",
        Axis("tokens of cache", "tokens", log=True),
        Axis("prompt tokens served", "share"),
        [
            Series(name, paint, "line", sizes, [_share(simulation, size) for size in sizes])
            for name, paint, simulation in wanted
        ],
        notes=["least recently used goes first; one cache, every session once, prompts only"],
    )


def _share(simulation: Simulation, size: int) -> float:
    served = int(simulation.serve(size).hbm.sum())
    return round(served / max(1, simulation.input_tokens), 5)


def _working_set(prompts: Sequence[Prompts], lanes: int, simulation: Simulation) -> Chart:
    held, at_us = simulation.working_set(), simulation.visits.at_us
    firsts = np.unique(np.linspace(0, len(held), min(_POINTS, len(held)), endpoint=False).astype(int))
    return Chart(
        "How much do live sessions hold?",
        "",
        Axis("time, pauses over 5 min cut", "us"),
        Axis("distinct prompt tokens", "tokens"),
        [Series("", "first", "steps", at_us[firsts].tolist(), np.maximum.reduceat(held, firsts).tolist())],
        notes=[f"{len(prompts):,} sessions, {lanes} at a time; what a cache must hold to serve all that repeats"],
    )
