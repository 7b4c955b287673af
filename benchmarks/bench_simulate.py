"""How fast `simulate` goes through a corpus of the published size: 94 million block references, on one core.

The traces beside the checkout are repeated until there are that many. Reading JSON is not measured; making columns of
the sessions is.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path

from corpus.blocks import count_blocks
from corpus.formats.weka import read_weka
from report.cache_pass import CacheSetup
from report.lanes import prompts_of
from report.simulation import Simulation

TRACES = Path(__file__).resolve().parents[1].parent / "shared" / "traces" / "weka"
REFERENCES = 94_000_000
TARGET_PER_S = 20e6
TARGET_MB = 2000
LANES = 32
CAPACITIES = tuple(1 << power for power in range(17, 27))
SETUPS = {
    "lru": CacheSetup(lanes=LANES),
    "session-aware": CacheSetup(lanes=LANES, policy="session-aware", with_answers=True),
    "8 ranks by session": CacheSetup(lanes=LANES, ranks=8),
}


def main() -> int:
    if not TRACES.is_dir():
        print(f"skipped: no traces in {TRACES.name} beside the checkout", file=sys.stderr)
        return 0
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    public = list(read_weka(TRACES))
    once = sum(count_blocks(request.blocks) for session in public for request in session.requests)
    times = -(-REFERENCES // once)
    sessions = [
        replace(session, session=number) for number, session in enumerate(islice(cycle(public), times * len(public)))
    ]
    for name, setup in SETUPS.items():
        began = time.process_time()
        simulation = Simulation([prompts_of(session, 300_000_000) for session in sessions], setup)
        rates = [int(simulation.serve(capacity).hbm.sum()) / simulation.input_tokens for capacity in CAPACITIES]
        seconds = time.process_time() - began
        speed = simulation.block_references / seconds
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        line = {
            "bench": f"simulate, {name}",
            "block_references": simulation.block_references,
            "requests": len(simulation.visits.session),
            "capacities": len(rates),
            "cpu_s": round(seconds, 2),
            "block_references_per_s": round(speed),
            "peak_mb": round(megabytes),
            "target": f">= {TARGET_PER_S:.0f} a second, < {TARGET_MB} MB",
            "ok": speed >= TARGET_PER_S and megabytes < TARGET_MB and simulation.block_references >= REFERENCES,
        }
        print(json.dumps(line), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
