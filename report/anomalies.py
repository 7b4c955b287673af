"""What is odd in a corpus and how often, by name. None of it is an error; all of it skews a careless benchmark.

The table at the end says what each name means; `count_anomalies` counts those that need one session only.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from corpus.session import Session
from report.lineage import block_counts, shared_blocks, steps


def count_anomalies(session: Session) -> Counter[str]:
    requests = session.requests
    return Counter(
        missing_api_time=sum(r.t_end_us is None for r in requests),
        not_complete=sum(r.end not in ("complete", "unknown") or (r.status or 200) >= 400 for r in requests),
        zero_output=sum(r.output_tokens == 0 for r in requests),
        negative_gap=sum(a.t_end_us is not None and b.t_start_us < a.t_end_us for a, b in steps(session)),
        model_switch=sum(a.model != b.model for a, b in steps(session, agent=0)),
        retry=sum(r.retry_of is not None for r in requests),
        no_blocks=sum(count == 0 for count in block_counts(requests)),
        non_dense_ids=missing_ids(session),
        **_prefix_losses(session),
    )


def missing_ids(session: Session) -> int:
    """Block ids between the smallest and the largest that stand in no prompt."""
    runs = sorted(
        (start, start + length)
        for request in session.requests
        for start, length in zip(request.blocks.run_start, request.blocks.run_len, strict=True)
    )
    missing, reached = 0, runs[0][0] if runs else 0
    for start, stop in runs:
        missing += max(0, start - reached)
        reached = max(reached, stop)
    return missing


def _prefix_losses(session: Session) -> dict[str, int]:
    counts = block_counts(session.requests)
    none = half = 0
    for before, after in steps(session, agent=0):
        shared = shared_blocks(session.requests, counts, before.request, after.request)
        if counts[before.request] and counts[after.request]:
            none += shared == 0
            half += 0 < shared < counts[before.request] / 2
    return {"zero_prefix": none, "prefix_halved": half}


MEANINGS: Final[dict[str, str]] = {
    "missing_api_time": "requests whose end is unknown",
    "not_complete": "requests that failed or were broken off",
    "retry": "requests that repeat a failed attempt",
    "zero_output": "requests with an empty answer",
    "no_blocks": "prompts shorter than one block",
    "negative_gap": "steps that start before the one before them ended",
    "model_switch": "main steps on another model than the one before",
    "zero_prefix": "main steps that share nothing with the one before",
    "prefix_halved": "main steps that keep less than half of the prompt before (compaction, rewind)",
    "non_dense_ids": "block ids skipped by the numbering: requests were removed after it",
    "duplicate_session": "sessions equal to an earlier one in everything but the name",
}
