"""Was the replay what it claims to be? Recomputed from the rows of `requests.parquet` alone.

Nothing of the planner or scheduler is imported: due moments follow again from measured ends and starts, so an error
there shows up here. A dependency is violated when the request was sent before the one it waited for had ended (or
started), more than the tolerance before the moment plus delay, or when there is no such moment at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from corpus.run import SentRequest

# Moments are rounded to microseconds and delays divided by the speed-up: early by more than this is a scheduling error.
TOLERANCE_US: Final = 1_000
# A prompt that the server counts more than this off was counted by another tokenizer: templates add less to an agent's.
WRONG_SHARE: Final = 0.02


@dataclass(frozen=True, slots=True)
class Fidelity:
    """`lateness_us` and `token_errors` are of profiling only; violations and early roots are of the whole run."""

    edges: int  # dependencies checked
    edge_violations: int
    early_roots: int  # sent before their own offset had passed, by more than the tolerance
    lateness_us: tuple[int, ...]  # sent minus due, of every request whose due moment exists
    token_errors: tuple[int, ...]  # server-counted prompt tokens minus planned


def judge(rows: Iterable[SentRequest]) -> Fidelity:
    sent = {(row.play, row.request): row for row in rows}
    edges = violations = early_roots = 0
    lateness: list[int] = []
    for row in sent.values():
        if row.sent_us is None:
            continue
        edges += len(row.after)
        broken, due = _waited(row, row.sent_us, sent)
        violations += broken
        if due is None:
            continue
        early_roots += not row.after and row.sent_us < due - TOLERANCE_US
        if row.phase == "profile":
            lateness.append(row.sent_us - due)
    errors = tuple(
        row.measured_input_tokens - row.planned_input_tokens
        for row in sent.values()
        if row.phase == "profile" and row.measured_input_tokens is not None
    )
    return Fidelity(edges, violations, early_roots, tuple(lateness), errors)


def _waited(row: SentRequest, sent_us: int, sent: Mapping[tuple[int, int], SentRequest]) -> tuple[int, int | None]:
    """How many dependencies were violated, and when it was due; None when something it waited for has no moment."""
    violations, missing = 0, False
    due = row.release_us + (row.root_offset_us or 0)
    for number, delay, anchor in zip(row.after, row.after_delay_us, row.after_anchor, strict=True):
        moment = _moment_us(sent.get((row.play, number)), anchor)
        if moment is None:
            violations, missing = violations + 1, True
            continue
        violations += sent_us < moment or sent_us < moment + delay - TOLERANCE_US
        due = max(due, moment + delay)
    return violations, None if missing else due


def _moment_us(row: SentRequest | None, anchor: str) -> int | None:
    if row is None:
        return None
    return row.end_us if anchor == "end" else row.sent_us
