"""200 sessions with 4,862 requests, 32 at a time: seconds from the command to the first request, and peak memory.

The peer starts cold, as it does with traces it has not seen; its first request is that of its own warm-up, as is ours.
"""

from __future__ import annotations

from replay_rig import HARNESS, Weighed, missing, our_environment, ours, peer, peer_environment, traces, weigh, workshop
from rig import report

SESSIONS, SEED, LANES, SECONDS = 200, 11, 32, 15
TARGET = "first request <= 1/10 of the harness's and <= 3 s; peak memory <= 1/4"


def numbers(found: Weighed) -> dict[str, float]:
    first = round(found.first_request_s, 2) if found.requests else float("nan")
    return {"first_request_s": first, "peak_pss_mb": found.peak_pss_mb, "cpu_s": found.cpu_s}


def main() -> None:
    mock = ["--ttft", "0.05", "--itl", "0.002"]
    with workshop() as folder:
        source = traces(SESSIONS, SEED, folder)
        if source is None:
            return
        options = ["--concurrency", str(LANES), "--duration", str(SECONDS)]
        mine = numbers(
            weigh(ours(str(source), folder / "run", *options), mock, folder / "ours", **our_environment(folder))
        )
        report("replay_start_agentreel", "", ok=None, **mine)
        them: dict[str, float] = {}
        if not missing(HARNESS / "agentx"):
            wanted = ["--scenario", "agentx", "--unsafe-override", "--custom-dataset-type", "weka_trace"]
            wanted += ["--input-file", str(source), "--concurrency", str(LANES), "--benchmark-duration", str(SECONDS)]
            command = [
                part for part in peer(str(HARNESS / "agentx"), folder / "art", *wanted) if part != "--no-gpu-telemetry"
            ]
            them = numbers(weigh(command, mock, folder / "harness", **peer_environment(folder)))
    if them:
        report("replay_start_harness", "", ok=None, **them)
    ratios: dict[str, float] = {}
    ok: bool | None = None
    if them:
        ratios = {
            "start_ratio": round(mine["first_request_s"] / them["first_request_s"], 3),
            "memory_ratio": round(mine["peak_pss_mb"] / them["peak_pss_mb"], 3),
        }
        ok = mine["first_request_s"] <= 3 and ratios["start_ratio"] <= 0.1 and ratios["memory_ratio"] <= 0.25
    report("replay_start", TARGET, ok=ok, **mine, **ratios)


if __name__ == "__main__":
    main()
