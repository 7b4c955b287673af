"""All that is decided before the first request: what is sent, what is dropped, and the rules of the schedule; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from corpus.errors import InputError
from corpus.session import Session
from replay.commands import ScheduleRules
from replay.method import METHODS
from replay.plan import DrawGraph, PlanRules, SessionPlan, count_dropped, plan_session
from replay.settings import ReplaySettings


@dataclass(frozen=True, slots=True)
class RunPlan:
    """`plans` are of the sessions of which something is left to send."""

    plans: tuple[SessionPlan, ...]
    rules: ScheduleRules
    dropped: Counter[str]  # requests by reason
    corpus_requests: int  # with the dropped ones
    dropped_sessions: tuple[str, ...] = ()  # names of those of which nothing is left

    def longer_than(self, context_tokens: int | None) -> int:
        """Requests whose prompt and output do not fit; 0 for a context that is not known."""
        if context_tokens is None:
            return 0
        requests = (request for plan in self.plans for request in plan.requests)
        return sum(request.input_tokens + request.output_tokens > context_tokens for request in requests)


def plan_run(sessions: Sequence[Session], settings: ReplaySettings, draw: DrawGraph | None = None) -> RunPlan:
    """`draw`: the graph of each session, where it is not its own. InputError when nothing is left to send."""
    if len({session.session for session in sessions}) < len(sessions):
        raise InputError("sessions", "two of them have the same number", "convert them into one corpus first")
    rules = plan_rules(settings)
    planned = [plan_session(session, rules, draw) for session in sessions]
    plans = tuple(plan for plan in planned if plan.requests)
    dropped = count_dropped(planned)
    if not plans:
        reasons = ", ".join(f"{count} {reason}" for reason, count in dropped.items())
        raise InputError("sessions", f"no request is left to send ({reasons or 'there are none'})")
    gone = tuple(session.label for session, plan in zip(sessions, planned, strict=True) if not plan.requests)
    return RunPlan(plans, _schedule_rules(settings, plans), dropped, sum(plan.total for plan in planned), gone)


def plan_rules(settings: ReplaySettings) -> PlanRules:
    """Where the method caps idle trees while it runs, delays stay as recorded."""
    cap_us = None if METHODS[settings.method].caps_trees else _us(settings.idle_cap_s)
    return PlanRules(cap_us, settings.speedup, settings.max_context, settings.open_loop)


def _schedule_rules(settings: ReplaySettings, plans: Sequence[SessionPlan]) -> ScheduleRules:
    return ScheduleRules(
        lanes=settings.concurrency,
        warmup=settings.warmup,
        duration_us=_us(settings.duration_s),
        seed=settings.seed,
        sampling=settings.sampling,
        method=settings.method,
        repeats=settings.repeats,
        requests=settings.requests,
        grace_us=_us(settings.grace_s),
        failure_share=settings.failure_share,
        idle_cap_us=_us(settings.idle_cap_s),
        speedup=settings.speedup,
        arrivals_us=_arrivals(plans) if settings.open_loop else None,
    )


def _arrivals(plans: Sequence[SessionPlan]) -> tuple[int, ...] | None:
    """When each session began after the first; None unless they share a clock."""
    clocks = [plan.clock_us for plan in plans if plan.clock_us is not None]
    return tuple(clock - min(clocks) for clock in clocks) if len(clocks) == len(plans) else None


def _us(seconds: float) -> int:
    return round(seconds * 1e6)
