"""Whether memory stays flat over a run: peak PSS of the process tree in the second half against the first.

python bench_replay_memory.py [--seconds N]      600 for the ten minutes of the target
"""

from __future__ import annotations

import sys

from replay_rig import our_environment, ours, traces, weigh, workshop
from rig import report

TARGET = "second half's peak <= 1.05 x the first half's, after the first tenth"


def main() -> None:
    seconds = sys.argv[sys.argv.index("--seconds") + 1] if "--seconds" in sys.argv else "60"
    with workshop() as folder:
        source = traces(20, 7, folder)
        if source is None:
            return
        # Sped up, so that sessions end and others take their place many times in a short run.
        options = ["--concurrency", "8", "--duration", seconds, "--speedup", "20"]
        found = weigh(
            ours(str(source), folder / "run", *options), ["--ttft", "0.02"], folder, **our_environment(folder)
        )
    end = found.pss_mb[-1][0]
    halves = [
        max(mb for at, mb in found.pss_mb if start * end <= at < stop * end)
        for start, stop in ((0.1, 0.5), (0.5, 0.95))
    ]
    ratio = round(halves[1] / halves[0], 3)
    numbers = {
        "seconds": float(seconds),
        "requests": len(found.requests),
        "first_mb": halves[0],
        "second_mb": halves[1],
    }
    report("replay_memory", TARGET, ok=ratio <= 1.05, ratio=ratio, **numbers)


if __name__ == "__main__":
    main()
