"""How long a whole task took, against the recording, and what its time went to; from the rows alone, pure.

The critical path of a play leads back from the request that ended last: to what it was waiting for at the end, and so
on to a request that waited for nobody. Its time falls into pieces: `tools` (recorded delays: tools, people, harness),
`client` (sent after due), first tokens (`queue` and `prefill`, told apart by the server's own averages where it is
scraped), and `decode`. The recorded way is the longest chain of recorded request durations and the replay's delays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from corpus.run import SentRequest


@dataclass(frozen=True, slots=True)
class TaskTime:
    """One play, in microseconds. The pieces of `path_us` add up to it."""

    task_us: int  # first sent to last end
    recorded_us: int  # of the same requests
    recorded_path_us: int
    path_us: int
    tools_us: int
    client_us: int
    first_token_us: int
    decode_us: int


def task_time(rows: Sequence[SentRequest]) -> TaskTime | None:
    """Of all rows of one play; None when a request was never sent or never ended."""
    if not rows or any(row.sent_us is None or row.end_us is None for row in rows):
        return None
    by_number = {row.request: row for row in rows}
    start = min(row.sent_us or 0 for row in rows)
    last = max(rows, key=lambda row: (row.end_us or 0, row.request))
    pieces = {"tools": 0, "client": 0, "first_token": 0, "decode": 0}
    row, until = last, last.end_us or 0
    while True:
        _spend(row, until, pieces)
        before = _waited_for(row, by_number)
        if before is None:
            begin = (row.sent_us or 0) - _late(row, row.release_us + (row.root_offset_us or 0), pieces)
            break
        source, delay, anchor = before
        moment = (source.sent_us if anchor == "start" else source.end_us) or 0
        pieces["tools"] += delay
        _late(row, moment + delay, pieces)
        row, until = source, moment
    return TaskTime(
        task_us=(last.end_us or 0) - start,
        recorded_us=_recorded_us(rows),
        recorded_path_us=_recorded_path_us(rows),
        path_us=(last.end_us or 0) - begin,
        tools_us=pieces["tools"],
        client_us=pieces["client"],
        first_token_us=pieces["first_token"],
        decode_us=pieces["decode"],
    )


def shares(times: Iterable[TaskTime], queue: float | None) -> dict[str, float | None]:
    """Of all critical paths together. `queue`: its share of the time to first token, where the server tells it."""
    times = list(times)
    whole = sum(time.path_us for time in times)
    if not whole:
        return dict.fromkeys(("tools", "client", "first_token", "queue", "prefill", "decode"))
    first = sum(time.first_token_us for time in times) / whole
    return {
        "tools": sum(time.tools_us for time in times) / whole,
        "client": sum(time.client_us for time in times) / whole,
        "first_token": first,
        "queue": None if queue is None else first * queue,
        "prefill": None if queue is None else first * (1 - queue),
        "decode": sum(time.decode_us for time in times) / whole,
    }


def _spend(row: SentRequest, until_us: int, pieces: dict[str, int]) -> None:
    """What of the request's own time lies on the path: all of it, or none when only its start was waited for."""
    sent = row.sent_us or 0
    first = until_us if row.first_token_us is None else min(row.first_token_us, until_us)
    pieces["first_token"] += first - sent
    pieces["decode"] += until_us - first


def _late(row: SentRequest, due_us: int, pieces: dict[str, int]) -> int:
    """Microseconds after due; a request that went out early by a rounding takes them from the path again."""
    late = (row.sent_us or 0) - due_us
    pieces["client"] += late
    return late


def _waited_for(row: SentRequest, rows: Mapping[int, SentRequest]) -> tuple[SentRequest, int, str] | None:
    """The wait that was over last, unless the row's own release was."""
    found, latest = None, row.release_us + (row.root_offset_us or 0)
    for number, delay, anchor in zip(row.after, row.after_delay_us, row.after_anchor, strict=True):
        source = rows.get(number)
        moment = None if source is None else (source.end_us if anchor == "end" else source.sent_us)
        if source is not None and moment is not None and moment + delay > latest:
            found, latest = (source, delay, anchor), moment + delay
    return found


def _recorded_end(row: SentRequest) -> int:
    return row.recorded_start_us if row.recorded_end_us is None else row.recorded_end_us


def _recorded_us(rows: Sequence[SentRequest]) -> int:
    return max(map(_recorded_end, rows)) - min(row.recorded_start_us for row in rows)


def _recorded_path_us(rows: Sequence[SentRequest]) -> int:
    """Longest chain, with the recorded durations in place of the measured ones."""
    duration = {row.request: _recorded_end(row) - row.recorded_start_us for row in rows}
    starts: dict[int, int] = {}
    for row in sorted(rows, key=lambda row: (row.sent_us or 0, row.request)):
        begin = row.root_offset_us or 0
        for number, delay, anchor in zip(row.after, row.after_delay_us, row.after_anchor, strict=True):
            if number in starts:
                begin = max(begin, starts[number] + delay + (duration[number] if anchor == "end" else 0))
        starts[row.request] = begin
    return max(starts[number] + duration[number] for number in starts) - min(starts.values())
