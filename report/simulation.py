"""What prefix caches of given sizes would serve of a corpus: hit rates by capacity and tier, and the working set.

Tiers are inclusive: every block is written through to DRAM and NVMe at once and every use counts in all of them, so a
prompt is served from the smallest tier that still holds it. All capacities are those of one rank. Policies are those of
`report.cache_pass`, routings those of `report.routing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from report.cache_pass import CacheSetup, measure_reuse
from report.lanes import Prompts, visits_of
from report.prompt_tree import Ints
from report.reuse import Reuse

_SHARES: Final = (0.5, 0.9, 0.99, 1.0)  # of what an unlimited cache serves
_SMALLEST: Final = 1 << 14  # tokens; where a curve begins


@dataclass(frozen=True, slots=True)
class Served:
    """Prompt tokens of every visit that came from each tier; parallel columns."""

    hbm: Ints
    dram: Ints
    nvme: Ints


class Simulation:
    """One pass answers for all capacities, unless ranks are chosen by what their caches hold."""

    def __init__(self, sessions: Sequence[Prompts], setup: CacheSetup) -> None:
        self._sessions = sessions
        self._setup = setup
        self.visits = visits_of(sessions, setup.lanes)
        self.input_tokens = int(self._column("input_tokens").sum())
        self.block_references = int(self._column("blocks").sum())
        self._usable = self._column("usable")
        self._size = np.array([prompts.block_tokens for prompts in sessions], dtype=np.int64)[self.visits.session]
        self._endless = measure_reuse(sessions, self.visits, setup)

    def serve(self, capacity_tokens: int | None) -> Served:
        """With caches of this size; None: of unlimited size."""
        if capacity_tokens is None:
            nothing = np.zeros_like(self._usable)
            return Served(self._served_tokens(self._endless, None), nothing, nothing)
        within = np.maximum.accumulate([capacity_tokens, self._setup.dram_tokens, self._setup.nvme_tokens]).tolist()
        reuse = self._reuse(within[-1])
        hbm, dram, nvme = (self._served_tokens(reuse, tokens) for tokens in within)
        return Served(hbm, dram - hbm, nvme - dram)

    def new_tokens(self) -> Ints:
        """Of every visit, the tokens in whole blocks that its rank sees for the first time."""
        seen = np.bincount(self._endless.visit, weights=self._endless.blocks, minlength=len(self._usable))
        return (self._column("blocks") - seen.astype(np.int64)) * self._size

    def working_set(self) -> Ints:
        """At every visit, the distinct prompt tokens that live sessions have used so far, over all ranks."""
        new, session, last = self.new_tokens(), self.visits.session, self.visits.is_last
        of_session = np.bincount(session, weights=new, minlength=len(self._sessions)).astype(np.int64)
        left = np.where(last, of_session[session], 0)
        held: Ints = np.cumsum(new) - np.cumsum(left) + left
        return held

    def capacity_for(self, share: float) -> int:
        """The least capacity that serves this share of what an unlimited one does; 0 when nothing is ever reused."""
        wanted = share * int(self._served_tokens(self._endless, None).sum())
        reach = self._endless.depth_tokens + self._endless.blocks * self._endless.block_tokens
        low, high = 0, int(reach.max(initial=0))
        while low < high:
            middle = (low + high) // 2
            if int(self._served_tokens(self._endless, middle).sum()) >= wanted:
                high = middle
            else:
                low = middle + 1
        return low

    def _reuse(self, capacity_tokens: int) -> Reuse:
        if self._setup.routing != "prefix" or self._setup.ranks == 1:
            return self._endless
        return measure_reuse(self._sessions, self.visits, self._setup, capacity_tokens)

    def _served_tokens(self, reuse: Reuse, capacity_tokens: int | None) -> Ints:
        served = reuse.served(capacity_tokens, self._setup.ttl_us)
        blocks = np.bincount(reuse.visit, weights=served, minlength=len(self._usable)).astype(np.int64)
        return np.minimum(blocks, self._usable) * self._size

    def _column(self, name: str) -> Ints:
        """A column of all sessions, in the order of the visits."""
        columns: list[Ints] = [getattr(prompts, name) for prompts in self._sessions]
        first = np.cumsum([0, *map(len, columns)])[:-1]
        return np.concatenate([*columns, np.empty(0, dtype=np.int64)])[first[self.visits.session] + self.visits.request]


def simulate(sessions: Sequence[Prompts], setup: CacheSetup, capacities: Sequence[int] = ()) -> dict[str, Any]:
    """The document of `agentreel simulate --json`; without capacities, a curve by doublings until nothing is gained."""
    simulation = Simulation(sessions, setup)
    needed = {f"p{100 * share:.0f}": simulation.capacity_for(share) for share in _SHARES}
    working_set = simulation.working_set()
    return {
        "sessions": len(sessions),
        "requests": len(working_set),
        "input_tokens": simulation.input_tokens,
        "block_references": simulation.block_references,
        "concurrency": setup.lanes,
        "policy": setup.policy,
        "ranks": setup.ranks,
        "routing": setup.routing if setup.ranks > 1 else None,
        "ttl_s": None if setup.ttl_us is None else setup.ttl_us / 1e6,
        "dram_tokens": setup.dram_tokens,
        "nvme_tokens": setup.nvme_tokens,
        "answers_stay": setup.with_answers,
        "unique_tokens": int(simulation.new_tokens().sum()),
        "working_set_tokens": _spread(working_set),
        "infinite_hit_rate": _share(int(simulation.serve(None).hbm.sum()), simulation.input_tokens),
        "capacity_for_share_of_hits": needed,
        "capacities": [_point(simulation, capacity) for capacity in capacities or _curve(needed["p100"])],
    }


def _point(simulation: Simulation, capacity_tokens: int) -> dict[str, Any]:
    served = simulation.serve(capacity_tokens)
    tiers = {name: int(getattr(served, name).sum()) for name in ("hbm", "dram", "nvme")}
    total = sum(tiers.values())
    return {
        "capacity_tokens": capacity_tokens,
        "hit_rate": _share(total, simulation.input_tokens),
        "hit_tokens": total,
        "tiers": {name: _share(tokens, simulation.input_tokens) for name, tokens in tiers.items()},
    }


def _curve(enough: int) -> list[int]:
    points = [_SMALLEST]
    while points[-1] < enough:
        points.append(2 * points[-1])
    return points


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _spread(values: Ints) -> dict[str, int | None]:
    if not len(values):
        return {"p50": None, "p90": None, "max": None}
    p50, p90 = np.percentile(values, (50, 90))
    return {"p50": round(p50), "p90": round(p90), "max": int(values.max())}
