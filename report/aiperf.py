"""A run as the `profile_export.jsonl` of aiperf: one record a request that was sent, for tools that read those; pure.

Fields and units are aiperf 0.13's. Where the two mean different things, ours are measured our way: latency begins when
the request's head was written, token counts are the server's, and planned ones stand where the server tells none.
`credit_issued_ns` is when the request was due. Times are counted from the run's start, since a run knows no date.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import orjson

from corpus.run import Run, SentRequest

_PHASES: Final = {"warmup": "warmup", "profile": "profiling"}
_MS: Final = "ms"
_TOKENS: Final = "tokens"
_RATE: Final = "tokens/sec/user"


def aiperf_lines(run: Run) -> Iterator[bytes]:
    """In the order sent, each with its newline."""
    turns: Counter[tuple[int, int]] = Counter()
    for row in run.requests:
        if row.sent_us is None:
            continue
        stream = (row.play, row.agent)
        yield orjson.dumps(_record(row, turns[stream]), option=orjson.OPT_APPEND_NEWLINE)
        turns[stream] += 1


def _record(row: SentRequest, turn: int) -> dict[str, Any]:
    return {
        "metadata": _metadata(row, turn),
        "metrics": {name: {"value": value, "unit": unit} for name, (value, unit) in _metrics(row).items()},
        "error": _error(row),
    }


def _metadata(row: SentRequest, turn: int) -> dict[str, Any]:
    root, own = f"play-{row.play}", f"play-{row.play}-agent-{row.agent}"
    sent = row.sent_us or 0
    end = sent if row.end_us is None else row.end_us
    return {
        "session_num": row.play,
        "x_request_id": f"play-{row.play}-request-{row.request}",
        "x_correlation_id": root if row.agent == 0 else own,
        "root_correlation_id": root,
        "parent_correlation_id": None if row.agent == 0 else root,
        "agent_depth": int(row.agent != 0),
        "conversation_id": f"session-{row.session}" + (f"-agent-{row.agent}" if row.agent else ""),
        "turn_index": turn,
        "source_trace_id": str(row.session),
        "source_outer_idx": row.request,
        "credit_issued_ns": row.due_us * 1000,
        "request_start_ns": sent * 1000,
        "request_end_ns": end * 1000,
        "worker_id": f"lane-{row.lane}",
        "record_processor_id": "agentreel",
        "benchmark_phase": _PHASES[row.phase],
        "was_cancelled": row.error == "cut",
        "cancellation_time_ns": end * 1000 if row.error == "cut" else None,
    }


def _metrics(row: SentRequest) -> dict[str, tuple[float, str]]:
    if row.error is not None or row.sent_us is None:
        return {}
    prompt = row.planned_input_tokens if row.measured_input_tokens is None else row.measured_input_tokens
    output = row.planned_output_tokens if row.measured_output_tokens is None else row.measured_output_tokens
    found: dict[str, tuple[float, str]] = {
        "input_sequence_length": (prompt, _TOKENS),
        "output_sequence_length": (output, _TOKENS),
        "requested_osl": (row.planned_output_tokens, _TOKENS),
    }
    told = {
        "usage_prompt_tokens": row.measured_input_tokens,
        "usage_completion_tokens": row.measured_output_tokens,
        "usage_prompt_cache_read_tokens": row.cached_tokens,
    }
    found |= {name: (value, _TOKENS) for name, value in told.items() if value is not None}
    return found | _latencies(row, row.sent_us, output)


def _latencies(row: SentRequest, sent_us: int, output: int) -> dict[str, tuple[float, str]]:
    first, last = row.first_token_us, row.last_token_us
    if first is None or last is None:
        return {}
    found = {
        "time_to_first_token": ((first - sent_us) / 1000, _MS),
        "request_latency": ((last - sent_us) / 1000, _MS),
    }
    if last > sent_us:
        found["e2e_output_token_throughput"] = (output / ((last - sent_us) / 1e6), _RATE)
    if output > 1:
        gap_us = (last - first) / (output - 1)
        found["inter_token_latency"] = (gap_us / 1000, _MS)
        if gap_us:
            found["output_token_throughput_per_user"] = (1e6 / gap_us, _RATE)
    return found


def _error(row: SentRequest) -> dict[str, Any] | None:
    if row.error is None or row.error == "cut":
        return None
    return {"code": row.status, "type": row.error, "message": row.error.replace("_", " ")}
