"""The numbers of a run, from its rows: what `summary.json` holds. Only profiling counts, unless a key says otherwise.

Latencies and token sums are over requests that ended without an error. TPOT = (last token - first token) / (output
tokens - 1), for at least two output tokens. A percentile of a rate is the inverse of that percentile of the time, so
p90 is the slow side for both. Unknown is null, never zero.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from corpus.run import SentRequest
from replay.economy import economy
from replay.fidelity import WRONG_SHARE, Fidelity, judge
from replay.server_summary import queue_share
from replay.task_time import TaskTime, shares, task_time

_PERCENTILES: Final = (50, 90, 99)
_SURPLUS: Final = 0.05  # of the tokens an infinite cache would serve


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What the rows do not tell."""

    profile_start_us: int | None  # None: the run ended during warm-up
    profile_end_us: int | None
    completed_plays: frozenset[int]  # all requests of the session sent and ended, the last one while profiling
    dropped: Mapping[str, int]  # reason -> requests of the corpus that are never sent
    corpus_requests: int  # with the dropped ones
    dropped_sessions: tuple[str, ...]  # names of those of which nothing is left to send
    client_cpu_s: float
    interrupted: bool
    stopped: str = "completed"
    problem: str = ""  # why the run ended before its schedule
    resent: int = 0  # requests a stale connection had swallowed, sent once more
    chips: int = 1
    price: float | None = None  # US$ an hour for one chip
    server: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of `server_summary`; empty: not scraped
    over_context: int = 0  # requests that are longer than the context the server says it takes


def summarise(rows: Sequence[SentRequest], facts: RunFacts) -> dict[str, Any]:
    """Without `corpus_fingerprint`, `seed`, `version`: the caller's."""
    profile = [row for row in rows if row.phase == "profile" and row.error != "cut"]
    good = [row for row in profile if row.error is None]
    fidelity = judge(rows)
    duration_s = _duration_s(facts)
    tokens_in = sum(_known(row.measured_input_tokens, row.planned_input_tokens) for row in good)
    tokens_out = sum(_known(row.measured_output_tokens, row.planned_output_tokens) for row in good)
    return {
        "requests": len(profile),
        "errors": len(profile) - len(good),
        "errors_by_class": dict(sorted(Counter(row.error for row in profile if row.error).items())),
        "warmup_requests": sum(row.phase == "warmup" for row in rows),
        "warmup_errors": sum(row.phase == "warmup" and row.error not in (None, "cut") for row in rows),
        "unfinished": sum(row.error == "cut" for row in rows),
        "interrupted": facts.interrupted,
        "stopped": facts.stopped,
        "problem": facts.problem,
        "resent_requests": facts.resent,
        "duration_s": duration_s,
        **_latencies(good),
        "input_tokens": tokens_in,
        "output_tokens": tokens_out,
        "throughput_tps": _per(tokens_in + tokens_out, duration_s),
        "output_tps": _per(tokens_out, duration_s),
        **_economy(tokens_in, tokens_out, duration_s, facts),
        **_cache(good),
        "osl_mismatch": _osl_mismatch(good),
        **_fidelity(fidelity),
        **_sessions(rows, facts),
        "client_cpu_s": round(facts.client_cpu_s, 3),
        "dropped_requests": dict(facts.dropped),
        "dropped_sessions": list(facts.dropped_sessions),
        "dropped_share": _per(sum(facts.dropped.values()), facts.corpus_requests),
        "warnings": _warnings(good, facts),
        "server": {name: dict(phase) for name, phase in facts.server.items()} or None,
    }


def percentiles(values: Iterable[float], ranks: Sequence[int] = _PERCENTILES) -> dict[str, float | None]:
    """Linear between ranks; null without values."""
    found = np.fromiter(values, dtype=np.float64)
    if not len(found):
        return {f"p{rank}": None for rank in ranks}
    picked: list[float] = np.percentile(found, ranks).tolist()
    return {f"p{rank}": round(value, 9) for rank, value in zip(ranks, picked, strict=True)}


def _latencies(good: Sequence[SentRequest]) -> dict[str, Any]:
    ttft, tpot, per_token = [], [], []
    for row in good:
        if row.sent_us is None or row.first_token_us is None or row.last_token_us is None:
            continue
        ttft.append((row.first_token_us - row.sent_us) / 1e6)
        output = row.measured_output_tokens
        if output and output > 1:
            tpot.append((row.last_token_us - row.first_token_us) / 1e6 / (output - 1))
        if output:
            per_token.append((row.last_token_us - row.sent_us) / 1e6 / output)
    return {
        "ttft_s": percentiles(ttft),
        "tpot_s": percentiles(tpot),
        "interactivity_tps": _inverse(percentiles(tpot)),
        "e2e_normalized_tps": _inverse(percentiles(per_token)),
    }


def _cache(good: Sequence[SentRequest]) -> dict[str, Any]:
    told = [row for row in good if row.cached_tokens is not None]
    predicted = [row for row in good if row.predicted_cached_tokens is not None]
    cached = sum(row.cached_tokens or 0 for row in told)
    prompts = sum(_known(row.measured_input_tokens, row.planned_input_tokens) for row in told)
    return {
        "cached_tokens": cached if told else None,
        "predicted_cached_tokens": sum(row.predicted_cached_tokens or 0 for row in told) if told else None,
        "cache_hit_rate": _per(cached, prompts),
        "predicted_hit_rate": _per(
            sum(row.predicted_cached_tokens or 0 for row in predicted),
            sum(row.planned_input_tokens for row in predicted),
        ),
    }


def _fidelity(fidelity: Fidelity) -> dict[str, Any]:
    lateness_ms = [us / 1000 for us in fidelity.lateness_us]
    return {
        "token_error": _signed_percentiles(fidelity.token_errors),
        "lateness_ms": {**percentiles(lateness_ms, (50, 99)), "max": max(lateness_ms, default=None)},
        "edges": fidelity.edges,
        "edge_violations": fidelity.edge_violations,
        "early_roots": fidelity.early_roots,
    }


def _signed_percentiles(errors: Sequence[int]) -> dict[str, int | None]:
    """Ranked by size and shown with their sign, so that a prompt counted short does not hide behind a zero."""
    if not errors:
        return {"p50": None, "p99": None, "max": None}
    ranked = sorted(errors, key=abs)
    picked = {f"p{rank}": ranked[-(-rank * len(ranked) // 100) - 1] for rank in (50, 99)}
    return {**picked, "max": ranked[-1]}


def _sessions(rows: Sequence[SentRequest], facts: RunFacts) -> dict[str, Any]:
    """Times are over plays that were profiled from their first request to their last."""
    plays: dict[int, list[SentRequest]] = {}
    for row in rows:
        if row.play in facts.completed_plays:
            plays.setdefault(row.play, []).append(row)
    whole = [play for play in plays.values() if all(row.phase == "profile" for row in play)]
    times: list[TaskTime] = [time for play in whole if (time := task_time(play)) is not None]
    return {
        "sessions_completed": len(facts.completed_plays),
        "session_slowdown": percentiles((t.task_us / t.recorded_us for t in times if t.recorded_us > 0), (50, 90)),
        "task_time_s": percentiles((time.task_us / 1e6 for time in times), (50, 90)),
        "critical_path_slowdown": percentiles(
            (time.path_us / time.recorded_path_us for time in times if time.recorded_path_us > 0), (50, 90)
        ),
        "critical_path_shares": shares(times, queue_share(facts.server.get("profile", {}))),
    }


def _economy(tokens_in: int, tokens_out: int, duration_s: float | None, facts: RunFacts) -> dict[str, float | None]:
    energy_j = facts.server.get("profile", {}).get("energy_j")
    return economy(tokens_in, tokens_out, duration_s, chips=facts.chips, price=facts.price, energy_j=energy_j)


def _osl_mismatch(good: Sequence[SentRequest]) -> dict[str, Any]:
    """Answers that were not as long as planned, where the server could not be made to."""
    told = [row for row in good if row.measured_output_tokens is not None]
    off = [(row.measured_output_tokens or 0) - row.planned_output_tokens for row in told]
    wrong = [difference for difference in off if difference]
    return {"requests": len(wrong), "share": _per(len(wrong), len(told)), "tokens": _signed_percentiles(wrong)}


def _warnings(good: Sequence[SentRequest], facts: RunFacts) -> dict[str, int]:
    """Warning -> requests it concerns."""
    lengths = [(row.measured_input_tokens, row.planned_input_tokens) for row in good]
    found = {
        "no_usage": sum(row.measured_input_tokens is None for row in good),
        "no_cached_tokens": sum(row.cached_tokens is None for row in good),
        "wrong_prompt_length": sum(
            abs(measured - planned) > WRONG_SHARE * planned for measured, planned in lengths if measured is not None
        ),
        "wrong_output_length": sum(row.measured_output_tokens not in (None, row.planned_output_tokens) for row in good),
        "more_tokens_than_the_server_takes": facts.over_context,
        "cached_tokens_of_an_earlier_run": _foreign_hits(good),
    }
    return {name: count for name, count in found.items() if count}


def _foreign_hits(good: Sequence[SentRequest]) -> int:
    """Requests that found more than this run had sent: the server still holds what an equal run left there.

    None while the sums agree: the server's queue may swap hits between requests, and some caches go by the token.
    """
    both = [(r.cached_tokens, r.predicted_cached_tokens) for r in good]
    known = [(cached, predicted) for cached, predicted in both if cached is not None and predicted is not None]
    surplus = sum(cached - predicted for cached, predicted in known)
    if surplus <= _SURPLUS * sum(predicted for _, predicted in known):
        return 0
    return sum(cached > predicted for cached, predicted in known)


def _duration_s(facts: RunFacts) -> float | None:
    if facts.profile_start_us is None or facts.profile_end_us is None:
        return None
    return (facts.profile_end_us - facts.profile_start_us) / 1e6


def _known(measured: int | None, planned: int) -> int:
    return planned if measured is None else measured


def _per(amount: float, of: float | None) -> float | None:
    return amount / of if of else None


def _inverse(times: Mapping[str, float | None]) -> dict[str, float | None]:
    return {name: 1 / value if value else None for name, value in times.items()}
