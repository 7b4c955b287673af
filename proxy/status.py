"""A recorder's snapshot as a small page for people and as metrics for Prometheus. Text out, nothing else.

The page needs no script and loads nothing; it shows ids, counts and times, never content.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from typing import Final

from proxy.tally import SessionCount
from proxy.totals import Snapshot

LIVE_US: Final = 300_000_000  # a session silent for longer than that, with nothing in flight, counts as finished

# name, type, help, key in Snapshot.counts
_COUNTERS: Final = (
    ("requests_total", "Requests written.", "requests"),
    ("responses_total", "Responses written.", "responses"),
    ("request_bytes_total", "Bytes of request bodies written.", "request_bytes"),
    ("response_bytes_total", "Bytes of response bodies written.", "response_bytes"),
    ("dropped_records_total", "Records that lost their body, or were lost: the writer fell behind.", "dropped"),
    ("unnamed_records_total", "Records stored as they were heard: what they are could not be told.", "unnamed"),
    ("write_errors_total", "Records or files that could not be written.", "write_errors"),
    ("listen_errors_total", "Faults of the recorder while listening.", "listen_errors"),
    ("worker_restarts_total", "Workers that ended unexpectedly and were replaced.", "worker_restarts"),
)
_FAMILIES: Final = (
    ("exchanges_ended_total", "Exchanges by how they ended.", "end", "end:"),
    ("gaps_total", "What is missing from the captures, by cause.", "cause", "gap:"),
    ("refused_requests_total", "Requests that were not let through, by status.", "status", "refused:"),
)
_STYLE: Final = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:72em;padding:0 1em;color:#222;background:#fff}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.2em .8em .2em 0;white-space:nowrap}"
    "td.n,th.n{text-align:right}tr+tr td{border-top:1px solid #ddd}.bad{color:#a00}.quiet{color:#777}"
    "button{font:inherit}@media(prefers-color-scheme:dark)"
    "{body{color:#ddd;background:#161616}tr+tr td{border-color:#333}.bad{color:#f66}}"
)


def is_live(session: SessionCount, now_us: int) -> bool:
    return session.open > 0 or now_us - session.t_last_us < LIVE_US


def metrics_text(snapshot: Snapshot, now_us: int) -> str:
    """Prometheus' text format, version 0.0.4."""
    live = sum(is_live(session, now_us) for session in snapshot.sessions)
    gauges = (
        ("exchanges_in_flight", "Exchanges that have not ended.", snapshot.open),
        ("backlog_bytes", "Heard and not yet written.", snapshot.backlog_bytes),
        ("recording_paused", "1 while requests pass unrecorded.", int(snapshot.paused)),
        ("workers", "Recorder processes.", snapshot.workers),
        ("sessions_live", "Sessions heard in the last five minutes.", live),
        ("sessions_finished", "Sessions silent for longer.", len(snapshot.sessions) - live),
    )
    lines: list[str] = []
    for name, words, value in gauges:
        lines += [*_head(name, "gauge", words), f"agentreel_{name} {value}"]
    for name, words, key in _COUNTERS:
        lines += [*_head(name, "counter", words), f"agentreel_{name} {snapshot.counts.get(key, 0)}"]
    for name, words, label, prefix in _FAMILIES:
        lines += _head(name, "counter", words)
        lines += [f'agentreel_{name}{{{label}="{kind}"}} {number}' for kind, number in _kinds(snapshot, prefix)]
    return "\n".join(lines) + "\n"


def page(snapshot: Snapshot, now_us: int) -> str:
    sessions = sorted(snapshot.sessions, key=lambda session: -session.t_last_us)
    live = [session for session in sessions if is_live(session, now_us)]
    finished = [session for session in sessions if not is_live(session, now_us)]
    action, word = ("resume", "Resume recording") if snapshot.paused else ("pause", "Pause recording")
    state = '<strong class="bad">paused: traffic passes unrecorded</strong>' if snapshot.paused else "recording"
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="3">'
        f"<title>agentreel</title><style>{_STYLE}</style><h1>agentreel: {state}</h1>"
        f'<form method="post" action="/{action}"><button>{word}</button></form>'
        f"<p>{_summary(snapshot)}</p>{_trouble(snapshot)}"
        f"<h2>{len(live)} live sessions</h2>{_table(live, now_us)}"
        f"<h2>{len(finished)} finished sessions</h2>{_table(finished, now_us)}"
        '<p class="quiet"><a href="/metrics">metrics</a> for Prometheus</p></html>'
    )


def _summary(snapshot: Snapshot) -> str:
    counts = snapshot.counts
    ends = ", ".join(f"{number} {kind}" for kind, number in _kinds(snapshot, "end:")) or "none ended"
    written = size(counts.get("request_bytes", 0) + counts.get("response_bytes", 0))
    workers = f", {snapshot.workers} workers" if snapshot.workers > 1 else ""
    return f"{counts.get('requests', 0)} requests ({ends}), {snapshot.open} in flight, {written} heard{workers}"


def _trouble(snapshot: Snapshot) -> str:
    counts = snapshot.counts
    told = [f"{counts[key]} {words}" for key, words in _TROUBLES if counts.get(key)]
    told += [f"gap: {number} {kind}" for kind, number in _kinds(snapshot, "gap:")]
    told += [f"{number} refused with {kind}" for kind, number in _kinds(snapshot, "refused:")]
    if snapshot.last_error:
        t_us, words = snapshot.last_error
        told.append(f"last error at {_clock_time(t_us)}: {words}")
    return "".join(f'<p class="bad">{escape(line)}</p>' for line in told)


_TROUBLES: Final = (
    ("dropped", "records lost their body or were lost: the disk is too slow"),
    ("unnamed", "records are stored as they were heard: what they are could not be told"),
    ("write_errors", "records or files could not be written"),
    ("listen_errors", "faults while listening; traffic went on"),
    ("worker_restarts", "workers were replaced"),
)


def _table(sessions: list[SessionCount], now_us: int) -> str:
    if not sessions:
        return '<p class="quiet">none</p>'
    heads = "".join(
        [f"<th>{word}</th>" for word in ("session", "client", "model")]
        + [f"<th class=n>{word}</th>" for word in ("agents", "requests", "in flight", "bytes", "last heard")]
    )
    return f"<table><tr>{heads}</tr>{''.join(_row(session, now_us) for session in sessions)}</table>"


def _row(session: SessionCount, now_us: int) -> str:
    words = (session.session_id or "(names no session)", session.harness or "-", session.model or "-")
    seconds = max(0, now_us - session.t_last_us) // 1_000_000
    numbers = (
        str(len(session.agents) + 1),
        str(session.requests),
        str(session.open),
        size(session.bytes),
        f"{seconds} s ago" if seconds < 120 else f"{seconds // 60} min ago",
    )
    cells = [f"<td>{escape(_shown(word))}</td>" for word in words]
    return f"<tr>{''.join(cells)}{''.join(f'<td class=n>{number}</td>' for number in numbers)}</tr>"


def _shown(word: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in word[:64])


def size(number: int) -> str:
    """Bytes for the eye."""
    value = float(number)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def _head(name: str, kind: str, words: str) -> list[str]:
    return [f"# HELP agentreel_{name} {words}", f"# TYPE agentreel_{name} {kind}"]


def _kinds(snapshot: Snapshot, prefix: str) -> Iterator[tuple[str, int]]:
    for key, number in sorted(snapshot.counts.items()):
        if key.startswith(prefix):
            yield key.removeprefix(prefix), number


def _clock_time(t_us: int) -> str:
    return datetime.fromtimestamp(t_us / 1e6, UTC).strftime("%H:%M:%S UTC")
