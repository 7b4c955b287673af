"""Runs on the page: the key numbers, and what was planned against what was measured.

The first timeline is the whole run, by lane or by conversation. Each later one is one play of a session, every agent
twice: above, pale, as it was recorded, below as it was replayed. Both begin with the play's first profiled request, so
a replay that is slower than the recording visibly runs away from it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from corpus.run import Run, SentRequest
from corpus.server_metrics import ServerSample
from report.fidelity_view import draw_fidelity
from report.over_time_view import draw_over_time
from report.packing import Column
from report.timeline import Bar, Details, Drawing, Lane, Link, Tone, Way, draw
from report.wording import UNKNOWN, count, seconds, share

_COLUMNS = [
    ["timeline", "text"],
    ["requests", "number"],
    ["agents", "number"],
    ["errors", "number"],
    ["replayed in", "us"],
    ["recorded in", "us"],
    ["latest by", "us"],
    ["prompts", "tokens"],
    ["from cache", "share"],
]


def _three(value: float) -> str:
    """Three significant digits; the unit stands in the title."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _signed(value: float) -> str:
    return f"{value:+,.0f}" if value else "0"


# what a person reads, which way is better, key of summary.json, names under it, how the values are written
_NUMBERS: Final[tuple[tuple[str, str, str, tuple[str, ...], Callable[[float], str]], ...]] = (
    ("requests profiled", "", "requests", (), count),
    ("errors", "must be 0", "errors", (), count),
    ("profiled for", "", "duration_s", (), seconds),
    ("prompt and answer tokens a second", "higher is better", "throughput_tps", (), _three),
    ("answer tokens a second", "higher is better", "output_tps", (), _three),
    ("time to first token, s", "lower is better", "ttft_s", ("p50", "p90", "p99"), _three),
    ("interactivity, tokens/s", "higher is better", "interactivity_tps", ("p50", "p90", "p99"), _three),
    ("answer tokens / latency, tokens/s", "higher is better", "e2e_normalized_tps", ("p50", "p90", "p99"), _three),
    ("prompt tokens served from cache", "higher is better", "cache_hit_rate", (), share),
    ("best possible with these requests", "the cache-hit ceiling", "predicted_hit_rate", (), share),
    ("sessions finished", "", "sessions_completed", (), count),
    ("replayed over recorded time", "1 = as recorded", "session_slowdown", ("p50", "p90"), _three),
    ("sent later than due, ms", "lower is better", "lateness_ms", ("p50", "p99", "max"), _three),
    ("sent before its predecessors", "must be 0", "edge_violations", (), count),
    ("prompt tokens counted minus planned", "must be 0", "token_error", ("p50", "p99", "max"), _signed),
)


def view_run(title: str, facts: Mapping[str, str], run: Run, samples: Sequence[ServerSample] = ()) -> dict[str, Any]:
    plays: dict[int, list[SentRequest]] = {}
    for sent in run.requests:
        plays.setdefault(sent.play, []).append(sent)
    return {
        "title": title,
        "kind": "run",
        "facts": [*facts.items(), *((name, _words(value)) for name, value in run.config.items())],
        "numbers": [_number(run.summary, *row) for row in _NUMBERS],
        "charts": [
            ["Did the replay do what was recorded?", draw_fidelity(run.requests)],
            ["Is it steady?", draw_over_time(run.requests, samples)],
        ],
        "notes": _notes(run.summary),
        "columns": _COLUMNS,
        "rows": [_row("the whole run", run.requests), *(_row(_label(p), p) for p in plays.values())],
        **_timelines(plays),
    }


def _words(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _number(
    summary: Mapping[str, Any], title: str, better: str, key: str, names: tuple[str, ...], write: Callable[[float], str]
) -> list[str]:
    found = summary.get(key)
    values = [found.get(name) if isinstance(found, dict) else None for name in names] if names else [found]
    written = [UNKNOWN if value is None else write(value) for value in values]
    remark = " / ".join(names) + (", " if names and better else "") + better
    return [title, " / ".join(written), remark]


def _notes(summary: Mapping[str, Any]) -> list[str]:
    warnings = [str(warning) for warning in summary.get("warnings") or ()]
    classes = (summary.get("errors_by_class") or {}).items()
    dropped = (summary.get("dropped_requests") or {}).items()
    return [
        *warnings,
        *(f"failed requests, {name}: {count(number)}" for name, number in classes),
        *(f"requests of the corpus never sent, {reason}: {count(number)}" for reason, number in dropped if number),
        *(
            [f"requests cut off by the end of the run: {count(summary['unfinished'])}"]
            if summary.get("unfinished")
            else []
        ),
    ]


def _label(rows: Sequence[SentRequest]) -> str:
    return f"play {rows[0].play}: session {rows[0].session + 1}, lane {rows[0].lane}"


def _row(label: str, rows: Sequence[SentRequest]) -> list[Any]:
    told = [r for r in rows if r.cached_tokens is not None]
    prompts = sum(r.planned_input_tokens for r in told)
    return [
        label,
        len(rows),
        len({(r.play, r.agent) for r in rows}),
        sum(r.error not in (None, "cut") for r in rows),
        _span([(r.sent_us, r.end_us) for r in rows]),
        _span([(r.recorded_start_us, r.recorded_end_us) for r in rows]) if len({r.play for r in rows}) == 1 else None,
        max((r.sent_us - r.due_us for r in rows if r.sent_us is not None), default=None),
        sum(r.planned_input_tokens for r in rows),
        sum(r.cached_tokens or 0 for r in told) / prompts if prompts else None,
    ]


def _span(times: Sequence[tuple[int | None, int | None]]) -> int | None:
    known = [time for pair in times for time in pair if time is not None]
    return max(known) - min(known) if known else None


def _timelines(plays: Mapping[int, Sequence[SentRequest]]) -> dict[str, Any]:
    """The whole run, then every play; what was never sent has no bar."""
    shown = [[r for r in rows if r.sent_us is not None] for rows in plays.values()]
    sent = [r for rows in shown for r in rows]
    unsent = sum(map(len, plays.values())) - len(sent)
    note = "Pale: warm-up. A click on a bar opens it in its play." + (f" Never sent: {unsent:,}." if unsent else "")
    drawings = [_play(rows, kept) for rows, kept in zip(plays.values(), shown, strict=True)]
    drawn = draw(drawings, _details(sent), ("the whole run", note, [_by_lane(sent), _by_conversation(shown)]))
    drawn["sheet"]["flame"] = {
        "cached": Column([r.cached_tokens for r in sent]),
        "prompt": Column([r.planned_input_tokens for r in sent]),
        "output": Column([r.measured_output_tokens for r in sent]),
    }
    return drawn


def _by_lane(sent: Sequence[SentRequest]) -> Way:
    lanes = {lane: number for number, lane in enumerate(sorted({r.lane for r in sent}))}
    return Way("by lane of the load generator", [Lane(f"lane {n}", 0) for n in lanes], [lanes[r.lane] for r in sent])


def _by_conversation(shown: Sequence[Sequence[SentRequest]]) -> Way:
    """Plays in order of their first request, the agents of each below it."""
    lanes: list[Lane] = []
    lane: dict[tuple[int, int], int] = {}
    for rows in sorted(filter(None, shown), key=lambda rows: min(r.sent_us or 0 for r in rows)):
        for agent in sorted({r.agent for r in rows} | {0}):
            lane[rows[0].play, agent] = len(lanes)
            lanes.append(Lane(f"agent {agent}" if agent else f"play {rows[0].play}", int(agent > 0)))
    return Way("by conversation", lanes, [lane[r.play, r.agent] for rows in shown for r in rows])


def _play(rows: Sequence[SentRequest], sent: Sequence[SentRequest]) -> Drawing:
    first = min(sent, key=lambda r: (r.phase == "warmup", r.sent_us or 0), default=None)
    if first is None or first.sent_us is None:
        return Drawing(_label(rows), "Nothing of it was sent.", [], [])
    agents = sorted({r.agent for r in sent} | {0})
    lanes = [Lane("main" if agent == 0 else f"agent {agent}", 0 if agent == 0 else 1) for agent in agents]
    bars = [_bar(r, agents.index(r.agent)) for r in sent]
    note = "Above, pale: as recorded. Below: as replayed. Both begin with the first profiled request."
    flame = "What the server says that it served from its cache. Without a count of it, all counts as new."
    zero = (first.sent_us, first.recorded_start_us)
    return Drawing(_label(rows), note, lanes, bars, _waits(sent), zero, {"flame": flame})


def _bar(sent: SentRequest, lane: int) -> Bar:
    assert sent.sent_us is not None
    recorded = (sent.recorded_start_us, sent.recorded_end_us)
    return Bar(lane, _tone(sent), sent.sent_us, sent.first_token_us, sent.end_us, sent.due_us, recorded)


def _tone(sent: SentRequest) -> Tone:
    if sent.error is not None:
        return "failed"
    if sent.phase == "warmup":
        return "warmup"
    return "child" if sent.agent else "main"


def _waits(sent: Sequence[SentRequest]) -> list[Link]:
    bars = {r.request: bar for bar, r in enumerate(sent)}
    return [
        Link(bars[src], bars[r.request], "wait", anchor, delay)
        for r in sent
        for src, delay, anchor in zip(r.after, r.after_delay_us, r.after_anchor, strict=True)
        if src in bars
    ]


def _details(sent: Sequence[SentRequest]) -> Details:
    return {
        "request": ("number", [r.request for r in sent]),
        "session": ("number", [r.session + 1 for r in sent]),
        "phase": ("text", [r.phase for r in sent]),
        "prompt planned": ("tokens", [r.planned_input_tokens for r in sent]),
        "counted by the server minus planned": ("tokens", [_more(r.measured_input_tokens, r) for r in sent]),
        "answer planned": ("tokens", [r.planned_output_tokens for r in sent]),
        "answer counted by the server": ("tokens", [r.measured_output_tokens for r in sent]),
        "from cache": ("tokens", [r.cached_tokens for r in sent]),
        "cacheable at best": ("tokens", [r.predicted_cached_tokens for r in sent]),
        "status": ("number", [r.status for r in sent]),
        "error": ("text", [r.error for r in sent]),
    }


def _more(measured: int | None, sent: SentRequest) -> int | None:
    return None if measured is None else measured - sent.planned_input_tokens
