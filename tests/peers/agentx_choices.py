"""Run by the reference harness's own interpreter: where a run over a folder of traces begins, as JSON.

    python agentx_choices.py FOLDER CONCURRENCY SEED > choices.json

Its own `TrajectorySource` draws the start points and its own `AgenticReplayStrategy` issues the primers and the first
profiled turns; only the wire, the clock and the server are stand-ins that write down what they are asked to do.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

from agentx_dump import open_loader  # type: ignore[import-not-found]  # beside this file, where it runs


def source_of(folder: Path, concurrency: int, seed: int) -> Any:
    models = importlib.import_module("aiperf.common.models.dataset_models")
    samplers = importlib.import_module("aiperf.dataset.dataset_samplers")
    trajectories = importlib.import_module("aiperf.timing.trajectory_source")
    loader = open_loader(folder)
    traces = loader.load_dataset()
    loader._path = None
    metadata = [conversation.metadata() for conversation in loader.convert_to_conversations(traces)]
    roots = [found.conversation_id for found in metadata if found.is_root is not False]
    return trajectories.TrajectorySource(
        dataset_metadata=models.DatasetMetadata(conversations=metadata, sampling_strategy="sequential"),
        dataset_sampler=samplers.SequentialSampler(roots),
        concurrency=concurrency,
        random_seed=seed,
        cache_bust_enabled=True,
    )


class Wire:
    """Stands in for the credit issuer, its timers and its barrier: what is issued, and after how many seconds."""

    def __init__(self) -> None:
        self.issued: list[tuple[float, str, int, int | None]] = []
        self.replay_gate = MagicMock()
        self._after_s = 0.0

    async def issue_credit(self, turn: Any) -> bool:
        self.issued.append((self._after_s, turn.conversation_id, turn.turn_index, turn.max_tokens_override))
        return True

    dispatch_child_turn = issue_credit

    async def acquire_lane_credit(self, *_args: Any, **_options: Any) -> bool:
        return True

    def schedule_later(self, delay_s: float, work: Any, **_options: Any) -> None:
        async def later() -> None:
            self._after_s = delay_s
            await work
            self._after_s = 0.0

        self._later.append(later())

    async def run(self, work: Any) -> None:
        self._later: list[Any] = []
        await work
        for later in self._later:
            await later


def strategy(source: Any, phase: str, wire: Wire) -> Any:
    replay = importlib.import_module("aiperf.timing.strategies.agentic_replay")
    enums = importlib.import_module("aiperf.common.enums")
    phases = [SimpleNamespace(burst_phase_starts=False, system_idle_gap_cap_seconds=10.0)]
    config = SimpleNamespace(
        get_profiling_phases=lambda: phases, get_cache_bust_target=lambda: enums.CacheBustTarget.FIRST_TURN_PREFIX
    )
    return replay.AgenticReplayStrategy(
        config=SimpleNamespace(phase=getattr(enums.CreditPhase, phase), warmup_requests_per_lane=None),
        conversation_source=source,
        scheduler=wire,
        stop_checker=MagicMock(),
        credit_issuer=wire,
        lifecycle=MagicMock(),
        run=SimpleNamespace(cfg=config, benchmark_id="run"),
    )


def choices(folder: Path, concurrency: int, seed: int) -> dict[str, Any]:
    source = source_of(folder, concurrency, seed)
    lanes = [
        {
            "root": trajectory.conversation_id,
            "t_star_ms": trajectory.snapshot.t_star_ms,
            "done": {
                found.conversation_id: found.next_turn_index for found in trajectory.snapshot.replay_resume_boundaries
            },
            "primers": sorted(
                [state.conversation_id, state.warmup_turn_index]
                for state in trajectory.snapshot.states
                if state.warmup_turn_index is not None
            ),
        }
        for trajectory in source.trajectories
    ]
    warmup, profile = Wire(), Wire()
    priming, profiling = strategy(source, "WARMUP", warmup), strategy(source, "PROFILING", profile)
    asyncio.run(warmup.run(priming._execute_warmup()))
    asyncio.run(profile.run(profiling._execute_profiling()))
    markers = [
        [trajectory.conversation_id, profiling._session_marker.get(trajectory.snapshot.states[0].root_correlation_id)]
        for trajectory in source.trajectories
    ]
    return {"lanes": lanes, "warmup": warmup.issued, "profile": profile.issued, "markers": markers}


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    sys.stdout.write(json.dumps(choices(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
