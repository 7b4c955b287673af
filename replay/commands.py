"""What the scheduler is told and what it answers: the words between the method and whoever has a clock and a socket."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from corpus.run import ErrorClass, Phase
from replay.method import MethodName
from replay.plan import PlannedRequest, SessionPlan, Wait
from replay.sampling import Sampling

Warmup = Literal["steady", "none"]
# completed: everything was sent and ended; requests: as many as were asked for; stuck: nothing will ever be due again
StopReason = Literal["completed", "duration", "requests", "failures", "stuck"]


@dataclass(frozen=True, slots=True)
class ScheduleRules:
    lanes: int  # unless sessions arrive by the clock
    warmup: Warmup
    duration_us: int  # of profiling
    seed: int
    sampling: Sampling = "sequential"
    method: MethodName = "published"
    repeats: bool = False  # without warm-up: sessions come again instead of once each
    requests: int | None = None  # to profile at most
    grace_us: int = 0  # for what is in flight when the duration is over
    failure_share: float = 1.0  # of a phase's requests; more failures stop the run
    idle_cap_us: int | None = None  # of a session tree, where the method caps trees
    speedup: float = 1.0
    arrivals_us: tuple[int, ...] | None = None  # when each plan begins, since profiling began; without warm-up
    worker: int = 0  # of `workers` schedulers that share the lanes and the plays by their numbers
    workers: int = 1


@dataclass(frozen=True, slots=True)
class Tick:
    at_us: int


@dataclass(frozen=True, slots=True)
class Started:
    play: int
    request: int
    at_us: int


@dataclass(frozen=True, slots=True)
class Ended:
    """Finished or failed: successors are set free either way."""

    play: int
    request: int
    at_us: int
    error: ErrorClass | None = None


@dataclass(frozen=True, slots=True)
class Proceed:
    """Every worker is through with the stage of warm-up, and the next one begins for all at this moment."""

    at_us: int


@dataclass(frozen=True, slots=True)
class Send:
    lane: int
    play: int
    plan: SessionPlan
    request: PlannedRequest
    phase: Phase
    output_tokens: int
    waits: tuple[Wait, ...]
    release_us: int
    root_offset_us: int | None
    due_us: int


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """Nothing to do before `at_us` unless a request starts or ends; None: only such an event can help."""

    at_us: int | None


@dataclass(frozen=True, slots=True)
class StageOver:
    """Through with a stage of warm-up before the other workers: nothing happens until `Proceed`."""

    stage: str


@dataclass(frozen=True, slots=True)
class Done:
    """What is still in flight is to be cut."""

    reason: StopReason
    detail: str = ""


Event = Tick | Started | Ended | Proceed
Command = Send | WaitUntil | StageOver | Done
