"""What a recorder says about itself: while it runs (`Snapshot`) and at its end (`RecordTotals`). Numbers and ids only.

Several workers' are added up: counts by name, sessions by id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from proxy.tally import SessionCount


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`counts`: requests, responses, request_bytes, response_bytes, dropped, unnamed, write_errors,
    listen_errors, worker_restarts, and by kind `end:...`, `gap:...`, `refused:...`."""

    paused: bool = False
    open: int = 0  # exchanges in flight
    backlog_bytes: int = 0
    workers: int = 1
    counts: dict[str, int] = field(default_factory=dict)
    sessions: tuple[SessionCount, ...] = ()
    last_error: tuple[int, str] | None = None  # Unix microseconds, words without content


@dataclass(frozen=True, slots=True)
class RecordTotals:
    """`dropped`: records that lost their body, or were lost, because the writer fell behind."""

    requests: int = 0
    responses: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    dropped: int = 0
    unnamed: int = 0  # records stored as they were heard, for a fault of ours while reading them
    write_errors: int = 0
    listen_errors: int = 0  # faults of ours while listening; the traffic went on
    worker_restarts: int = 0
    ends: dict[str, int] = field(default_factory=dict)
    gaps: dict[str, int] = field(default_factory=dict)  # what is missing, by cause
    refused: dict[str, int] = field(default_factory=dict)  # requests that were not let through, by status


def totals_of(snapshot: Snapshot) -> RecordTotals:
    counts = snapshot.counts

    def kinds(prefix: str) -> dict[str, int]:
        found = sorted(key for key in counts if key.startswith(prefix))
        return {key.removeprefix(prefix): counts[key] for key in found}

    return RecordTotals(
        requests=counts.get("requests", 0),
        responses=counts.get("responses", 0),
        request_bytes=counts.get("request_bytes", 0),
        response_bytes=counts.get("response_bytes", 0),
        dropped=counts.get("dropped", 0),
        unnamed=counts.get("unnamed", 0),
        write_errors=counts.get("write_errors", 0),
        listen_errors=counts.get("listen_errors", 0),
        worker_restarts=counts.get("worker_restarts", 0),
        ends=kinds("end:"),
        gaps=kinds("gap:"),
        refused=kinds("refused:"),
    )


def merged(snapshots: Iterable[Snapshot]) -> Snapshot:
    """Of workers on one port. Paused only where all are."""
    all_of = list(snapshots)
    counts: Counter[str] = Counter()
    sessions: dict[str | None, SessionCount] = {}
    for snapshot in all_of:
        counts.update(snapshot.counts)
        for session in snapshot.sessions:
            known = sessions.get(session.session_id)
            sessions[session.session_id] = session if known is None else _added(known, session)
    errors = [snapshot.last_error for snapshot in all_of if snapshot.last_error]
    return Snapshot(
        paused=bool(all_of) and all(snapshot.paused for snapshot in all_of),
        open=sum(snapshot.open for snapshot in all_of),
        backlog_bytes=sum(snapshot.backlog_bytes for snapshot in all_of),
        workers=sum(snapshot.workers for snapshot in all_of),
        counts=dict(counts),
        sessions=tuple(sorted(sessions.values(), key=lambda session: session.t_last_us)),
        last_error=max(errors, default=None),
    )


def _added(one: SessionCount, other: SessionCount) -> SessionCount:
    return SessionCount(
        session_id=one.session_id,
        harness=one.harness or other.harness,
        model=one.model or other.model,
        agents=one.agents | other.agents,
        requests=one.requests + other.requests,
        open=one.open + other.open,
        bytes=one.bytes + other.bytes,
        t_first_us=min(one.t_first_us, other.t_first_us),
        t_last_us=max(one.t_last_us, other.t_last_us),
    )
