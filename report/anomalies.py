"""What is odd in a corpus and how often, by name. None of it is an error; all of it skews a careless benchmark.

The table says what each name means and what is done about it: nothing is repaired without being counted here.
`count_anomalies` counts what one session shows, `report.declared` what a WEKA source states against its requests,
`report.lookalikes` sessions that resemble each other.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Final, NamedTuple

from corpus.blocks import SHARED_FROM
from corpus.session import Session
from report.declared import count_contradictions
from report.lineage import block_counts, shared_blocks, steps

_SECOND_US: Final = 1_000_000


class Anomaly(NamedTuple):
    meaning: str
    treatment: str  # what readers and replay do about it


def count_anomalies(session: Session) -> Counter[str]:
    requests = session.requests
    gaps = [b.t_start_us - a.t_end_us for a, b in steps(session) if a.t_end_us is not None]
    starts = [r.t_start_us for r in requests]
    return Counter(
        missing_api_time=sum(r.t_end_us is None for r in requests),
        not_complete=sum(r.end not in ("complete", "unknown") or (r.status or 200) >= 400 for r in requests),
        zero_output=sum(r.output_tokens == 0 for r in requests),
        empty_prompt=sum(r.input_tokens == 0 for r in requests),
        negative_gap=sum(gap < 0 for gap in gaps),
        overlap_over_1s=sum(gap < -_SECOND_US for gap in gaps),
        coarse_clock=_coarse_clock(session),
        equal_start=sum(a == b for a, b in pairwise(starts)),
        out_of_order=_out_of_order(session),
        duplicate_request=_repeated(session),
        several_models=int(len({r.model for r in requests if r.agent == 0}) > 1),
        model_switch=sum(a.model != b.model for a, b in steps(session, agent=0)),
        retry=sum(r.retry_of is not None for r in requests),
        folded_attempt=sum(len(r.attempts) for r in requests),
        non_dense_ids=missing_ids(session),
        unchained_ids=unchained_ids(session),
        **_list_lengths(session),
        **_prefix_losses(session),
        **count_contradictions(session),
    )


def missing_ids(session: Session) -> int:
    """Block ids between the smallest and the largest that stand in no prompt; of the session's own ones."""
    runs = sorted(run for run in _runs(session) if run[0] < SHARED_FROM)
    missing, reached = 0, runs[0][0] if runs else 0
    for start, stop in runs:
        missing += max(0, start - reached)
        reached = max(reached, stop)
    return missing


def unchained_ids(session: Session) -> int:
    """Ids that come again outside the longest prefix known so far: in a chain of hashes none does."""
    again, known = 0, set[int]()
    for start, stop in _runs(session):
        again += len(known.intersection(range(start, stop))) if known else 0
        known.update(range(start, stop))
    return again


def _runs(session: Session) -> list[tuple[int, int]]:
    return [
        (start, start + length)
        for request in session.requests
        for start, length in zip(request.blocks.run_start, request.blocks.run_len, strict=True)
    ]


def _coarse_clock(session: Session) -> int:
    """1 when all of several main requests start on whole seconds; sub-agents are placed by a finer clock."""
    starts = {r.t_start_us for r in session.requests if r.agent == 0}
    return int(len(starts) > 2 and all(start % _SECOND_US == 0 for start in starts))


def _out_of_order(session: Session) -> int:
    """Main requests that stand in the source before one that starts earlier."""
    positions = [r.position for r in session.requests if r.agent == 0]
    return sum(a > b for a, b in pairwise(positions))


def _repeated(session: Session) -> int:
    """As converters of recorded rows tell duplicates: by time, model, lengths, end and agent."""
    rows = [(r.agent, r.t_start_us, r.t_end_us, r.model, r.input_tokens, r.output_tokens) for r in session.requests]
    imported = session.source_format == "weka"  # elsewhere rows of one moment are not known to be the same
    return len(rows) - len(set(rows)) if imported else 0


def _list_lengths(session: Session) -> dict[str, int]:
    """How prompts and their lists disagree; a recorded corpus lists whole blocks only, by its own rule."""
    counts = block_counts(session.requests)
    pairs = list(zip(session.requests, counts, strict=True)) if session.source_format != "capture" else []
    size = session.block_size
    return {
        "no_blocks": sum(count == 0 for count in counts),
        "tail_without_id": sum(0 < count == r.input_tokens // size < r.input_tokens / size for r, count in pairs),
        "partial_block_id": sum(count > r.input_tokens // size for r, count in pairs),
        "short_list": sum(0 < count < r.input_tokens // size for r, count in pairs),
    }


def _prefix_losses(session: Session) -> dict[str, int]:
    counts = block_counts(session.requests)
    none = half = 0
    for before, after in steps(session, agent=0):
        shared = shared_blocks(session.requests, counts, before.request, after.request)
        if counts[before.request] and counts[after.request]:
            none += shared == 0
            half += 0 < shared < counts[before.request] / 2
    return {"zero_prefix": none, "prefix_halved": half}


MEANINGS: Final[dict[str, Anomaly]] = {
    "missing_api_time": Anomaly(
        "requests whose end is unknown", "the end counts as the start; never as a duration of 0"
    ),
    "unparsed_stream": Anomaly("streams whose end, stop and kinds the recorder missed", "kept, as missing_api_time"),
    "not_complete": Anomaly(
        "requests that failed or were broken off", "kept; exports to traces leave them out, counted"
    ),
    "retry": Anomaly("requests that repeat a failed attempt", "kept, linked by a retry edge"),
    "folded_attempt": Anomaly(
        "attempts that came to nothing before a request", "told by that request; `build --keep-aux` keeps them"
    ),
    "zero_output": Anomaly("requests with an empty answer", "kept; replay asks for one token"),
    "empty_prompt": Anomaly("requests with an empty prompt", "kept; replay and exports drop them, counted"),
    "no_blocks": Anomaly("prompts without any listed block", "kept; their tokens are shared with nobody"),
    "tail_without_id": Anomaly(
        "prompts whose last, partial block has no id", "kept; those tokens are shared with nobody"
    ),
    "partial_block_id": Anomaly(
        "lists with an id for the partial last block", "kept; replay does not count it as whole"
    ),
    "short_list": Anomaly(
        "lists with fewer ids than whole blocks", "kept; the rest of the prompt is shared with nobody"
    ),
    "unchained_ids": Anomaly("ids that come again after another prefix", "kept; a prefix is what two lists begin with"),
    "non_dense_ids": Anomaly("ids skipped: requests were removed after the numbering", "kept as they are"),
    "negative_gap": Anomaly(
        "steps that start before the one before them ended", "kept; up to a coarse clock's tick no gap"
    ),
    "overlap_over_1s": Anomaly(
        "of these, by more than a second: a second stream", "the later waits for the other's start"
    ),
    "coarse_clock": Anomaly("sessions whose times are whole seconds", "overlaps up to a second count as none"),
    "equal_start": Anomaly("requests that start with the one before them", "kept in the order of the source"),
    "out_of_order": Anomaly(
        "main requests that stand in the source after a later one", "sorted; given back as they stood"
    ),
    "duplicate_request": Anomaly("requests equal in time, model, lengths and agent", "kept"),
    "several_models": Anomaly("sessions whose main agent used several models", "kept"),
    "model_switch": Anomaly("main steps on another model than the one before", "kept"),
    "zero_prefix": Anomaly(
        "main steps that share nothing with the one before", "kept; reset, one-off or another agent"
    ),
    "prefix_halved": Anomaly("main steps that keep less than half of the prompt before", "kept; compaction or rewind"),
    "think_time_missing": Anomaly("steps that state no think time", "never used"),
    "think_time_differs": Anomaly("steps whose think time is over 1.5 s off", "the stated one is kept, never used"),
    "group_time_is_end": Anomaly("sub-agents whose time says when they ended", "start is that minus duration or span"),
    "group_moved": Anomaly("of these, starts before the end of what spawned them", "moved to that end"),
    "group_launched": Anomaly("sub-agents that were only launched, without telemetry", "their time is their start"),
    "group_without_join": Anomaly("sub-agents with no main request after their end", "they join nothing"),
    "duration_differs": Anomaly("sub-agents whose duration is over 5 s off their requests", "the longer one counts"),
    "zero_total_tokens": Anomaly("sub-agents said to have used no tokens", "the stated number is kept, never used"),
    "undeclared_model": Anomaly("agents on a model the source does not declare", "taken from the requests"),
    "totals_differ": Anomaly("sessions whose totals are not those of their requests", "kept, never used"),
    "duplicate_session": Anomaly(
        "sessions equal to an earlier one in everything but the name", "kept; see `duplicates`"
    ),
    "forked_session": Anomaly("sessions that share over 30 % of their requests with another", "kept; see `forks`"),
}
