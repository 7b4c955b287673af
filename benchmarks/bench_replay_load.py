"""4,000 requests of 1,000 tokens with 64 to answer, 128 at a time, beside two peers: CPU, rate, how many on the wire.

The server answers after 0.2 s with 64 chunks, a write each, so one client can at best have 640 requests a second.
    python bench_replay_load.py [--quick]
"""

from __future__ import annotations

import sys

from replay_rig import AIPERF, HARNESS, Weighed, missing, our_environment, ours, peer, peer_environment, weigh, workshop
from rig import report

REQUESTS, AT_ONCE, TTFT_S = 4000, 128, 0.2
TARGET = "CPU <= 1/4 of the harness, requests/s >= 2x, >= 95 % of 128 on the wire"


def numbers(found: Weighed) -> dict[str, float]:
    return {"requests": len(found.requests), "cpu_s": found.cpu_s, "peak_pss_mb": found.peak_pss_mb, **found.steady()}


def main() -> None:
    requests = 1000 if "--quick" in sys.argv else REQUESTS
    sizes = ["--synthetic-input-tokens-mean", "1000", "--synthetic-input-tokens-stddev", "0"]
    sizes += ["--output-tokens-mean", "64", "--output-tokens-stddev", "0", "--extra-inputs", "ignore_eos:true"]
    sizes += ["--endpoint-type", "chat", "--streaming", "--concurrency", str(AT_ONCE), "--request-count", str(requests)]
    sizes += ["--random-seed", "1", "--use-server-token-count"]
    mock = ["--ttft", str(TTFT_S)]
    with workshop() as folder:
        options = ["--requests", str(requests), "--concurrency", str(AT_ONCE)]
        mine = numbers(
            weigh(ours("fixed:1000,64", folder / "run", *options), mock, folder / "ours", **our_environment(folder))
        )
        report("replay_load_agentreel", "", ok=None, **mine)
        peers = {}
        for name, program in (("harness", HARNESS / "aiperf"), ("aiperf", AIPERF / "aiperf")):
            if not missing(program):
                command = peer(str(program), folder / name / "art", *sizes)
                peers[name] = numbers(weigh(command, mock, folder / name, **peer_environment(folder)))
                report(f"replay_load_{name}", "", ok=None, **peers[name])
    ratios: dict[str, float] = {}
    ok: bool | None = None
    if them := peers.get("harness"):
        ratios = {
            "cpu_ratio": round(mine["cpu_s"] / them["cpu_s"], 3),
            "rate_ratio": round(mine["requests_per_s"] / them["requests_per_s"], 2),
        }
        ok = ratios["cpu_ratio"] <= 0.25 and ratios["rate_ratio"] >= 2 and mine["on_the_wire"] >= 0.95 * AT_ONCE
    report("replay_load", TARGET, ok=ok, **mine, **ratios)


if __name__ == "__main__":
    main()
