"""How late requests are sent, by the replay's own rows: sessions of the kit, then 64 sessions of 140k-token prompts.

Due is the measured end (or start) of what a request waits for plus the recorded delay; late is when its head was
written after that. Requests on a run's first loaded moments count too. Judge it on a quiet machine only: with the cores
taken by others, lateness is theirs.
    python bench_replay_lateness.py [--seconds N]
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from replay_rig import KIT, our_environment, ours, summary, weigh, workshop
from rig import report

LANES, LONG_LANES, PROMPT_TOKENS = 8, 64, 140_000
PLAIN_TARGET = "p50 <= 0.5 ms, p99 <= 5 ms"
LONG_TARGET = "p99 <= 20 ms with 64 sessions of 140k-token prompts"


def main() -> None:
    seconds = sys.argv[sys.argv.index("--seconds") + 1] if "--seconds" in sys.argv else "60"
    mock = ["--ttft", "0.05", "--itl", "0.002"]
    with workshop() as folder:
        environment = our_environment(folder)
        if (KIT / "weka20").is_dir():
            options = ["--concurrency", str(LANES), "--duration", seconds]
            weigh(ours(str(KIT / "weka20"), folder / "plain", *options), mock, folder, **environment)
            late = summary(folder / "plain")["lateness_ms"]
            report("replay_lateness", PLAIN_TARGET, ok=late["p50"] <= 0.5 and late["p99"] <= 5, lanes=LANES, **late)
        else:
            print("skipped: the kit's sessions are not on this machine", file=sys.stderr)
        write_long(folder / "long", LONG_LANES)
        options = ["--concurrency", str(LONG_LANES), "--duration", seconds]
        found = weigh(ours(str(folder / "long"), folder / "far", *options), mock, folder, **environment)
        told = summary(folder / "far")
        late = told["lateness_ms"]
        numbers = {"requests": told["requests"], "peak_pss_mb": found.peak_pss_mb, **late}
        report("replay_lateness_long", LONG_TARGET, ok=late["p99"] <= 20, lanes=LONG_LANES, **numbers)


def write_long(folder: Path, sessions: int) -> None:
    """WEKA traces: a long prompt that grows by a few hundred tokens a turn, some seconds apart."""
    folder.mkdir()
    for number in range(sessions):
        draw = random.Random(number)
        requests, now, tokens = [], 0.0, PROMPT_TOKENS
        for _ in range(60):
            took = draw.uniform(0.5, 2)
            one = {"t": round(now, 3), "type": "s", "model": "m", "in": tokens, "out": 40, "api_time": round(took, 3)}
            requests.append({**one, "hash_ids": list(range(tokens // 64))})
            now += took + draw.lognormvariate(1.3, 0.8)
            tokens += draw.randrange(100, 1000)
        trace = {"id": f"long-{number}", "models": ["m"], "block_size": 64, "hash_id_scope": "local"}
        trace |= {"tool_tokens": 0, "system_tokens": 0, "requests": requests}
        (folder / f"long-{number:03}.json").write_text(json.dumps(trace))


if __name__ == "__main__":
    main()
