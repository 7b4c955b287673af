"""A whole run of the harness against a mock server, beside the same run rehearsed here: the same requests warm up.

Which requests are among a lane's ten depends a little on how fast each was answered, so a few may differ.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from agentreel.agentx import agentx_graph
from corpus.formats.weka import read_weka
from dagbuild.agentx.graph import build_graph
from replay.commands import Send
from replay.rehearse import Answer, Rehearsed, rehearse
from replay.run_plan import plan_run
from replay.schedule import Scheduler
from replay.settings import ReplaySettings
from tests.peers import agentx_peer
from tests.peers.test_agentx import BENCH

LANES, SECONDS = 8, 20
FIRST_TOKEN_US, TOKEN_US = 50_000, 2_000  # of the mock server

Turn = tuple[str, int]


def harness_run(folder: Path) -> list[dict[str, Any]]:
    """What it says of each of its requests."""
    sys.path.insert(0, str(agentx_peer.ROOT / "benchmarks"))
    rig = importlib.import_module("replay_rig")
    wanted = ["--scenario", "agentx", "--unsafe-override", "--custom-dataset-type", "weka_trace"]
    wanted += ["--input-file", str(BENCH / "weka20"), "--concurrency", str(LANES)]
    command = rig.peer(str(rig.HARNESS / "agentx"), folder / "art", *wanted, "--benchmark-duration", str(SECONDS))
    command.remove("--no-gpu-telemetry")  # the scenario sets it
    mock = ["--ttft", str(FIRST_TOKEN_US / 1e6), "--itl", str(TOKEN_US / 1e6)]
    rig.weigh(command, mock, folder / "harness", **rig.peer_environment(folder))
    lines = (folder / "art" / "profile_export.jsonl").read_text().splitlines()
    return [json.loads(line)["metadata"] for line in lines]


def our_run(folder: Path) -> list[tuple[str, Turn]]:
    """(phase, turn), in the order of sending."""
    sessions = list(read_weka(BENCH / "weka20"))
    names = {
        (session.session, call.request): (stream.name, turn)
        for session in sessions
        for stream in build_graph(session).streams
        for turn, call in enumerate(stream.calls)
    }
    asked = ReplaySettings(
        "http://127.0.0.1", "mock", folder, "any", concurrency=LANES, duration_s=SECONDS, method="agentx"
    )
    planned = plan_run(sessions, asked, agentx_graph)

    def answer(send: Send) -> Answer:
        return Answer(FIRST_TOKEN_US + TOKEN_US * min(send.output_tokens, 64))

    found = [one for one in rehearse(Scheduler(planned.plans, planned.rules), answer) if isinstance(one, Rehearsed)]
    ordered = sorted(found, key=lambda one: one.started_us)
    return [(one.send.phase, names[one.send.plan.session, one.send.request.request]) for one in ordered]


@pytest.mark.skipif(not BENCH.is_dir(), reason="the synthetic sessions are not on this machine")
def test_the_same_requests_warm_up_and_are_profiled(tmp_path: Path) -> None:
    if agentx_peer.install() is None:
        pytest.skip(f"{agentx_peer.RECIPE} is not to be had here")
    theirs = harness_run(tmp_path)
    ours = our_run(tmp_path)
    warmed = {(one["conversation_id"], one["turn_index"]) for one in theirs if one["benchmark_phase"] == "warmup"}
    profiled = {(one["conversation_id"], one["turn_index"]) for one in theirs if one["benchmark_phase"] == "profiling"}
    mine = {turn for phase, turn in ours if phase == "warmup"}
    print(f"warm-up: {len(warmed)} there, {len(mine)} here, {len(warmed & mine)} the same")
    assert len(warmed) == len(mine) > 10 * LANES
    assert len(warmed & mine) >= 0.9 * len(warmed)
    assert len(profiled & {turn for phase, turn in ours if phase == "profile"}) >= 0.9 * len(profiled) > 0
