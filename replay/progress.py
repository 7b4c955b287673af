"""What a replay tells while it runs: counts of each process, merged, and the last moments' speed and lateness.

Each process hands over what is new since it last did (`Tally`); `Meter` keeps the last requests of all of them. After
the first answers it also says when the server counts other prompt lengths than were planned, as it does when the
tokenizer is not its own: better heard after ten requests than after an hour.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, NamedTuple

from corpus.run import ErrorClass, Phase, SentRequest
from replay.fidelity import WRONG_SHARE

_WINDOW: Final = 1000  # requests whose latencies are shown
_WINDOW_S: Final = 10.0  # of the token rate
_FIRST: Final = 10  # answers that are enough to judge a tokenizer


@dataclass(frozen=True, slots=True)
class Progress:
    phase: Phase
    elapsed_s: float
    profiled_s: float  # of `duration_s`
    duration_s: float
    sent: int
    in_flight: int
    ended: int
    errors: int
    sessions_completed: int
    output_tps: float | None = None  # of the last seconds
    ttft_p90_s: float | None = None  # of the last requests
    lateness_p99_ms: float | None = None
    told: tuple[str, ...] = ()  # what a person should know, from when it is known


class Brief(NamedTuple):
    """Of a request that ended."""

    ttft_us: int | None
    late_us: int | None
    output_tokens: int | None
    planned_tokens: int
    measured_tokens: int | None


@dataclass(frozen=True, slots=True)
class Tally:
    """Of one process; the first two since it was last asked."""

    ended: tuple[tuple[Phase, ErrorClass | None, int], ...]  # requests that ended, by phase and error
    rows: tuple[Brief, ...]
    in_flight: int
    sessions_completed: int
    profile_start_us: int | None
    words: tuple[tuple[ErrorClass, str], ...] = ()  # of the first failure of a class, in the server's or system's words


def brief(row: SentRequest) -> Brief:
    ttft = None if row.first_token_us is None or row.sent_us is None else row.first_token_us - row.sent_us
    late = None if row.sent_us is None else row.sent_us - row.due_us
    return Brief(ttft, late, row.measured_output_tokens, row.planned_input_tokens, row.measured_input_tokens)


class Meter:
    def __init__(self, duration_s: float, workers: int = 1) -> None:
        self._duration_s = duration_s
        self._last: list[Tally | None] = [None] * workers
        self._ttft_us: deque[int] = deque(maxlen=_WINDOW)
        self._late_us: deque[int] = deque(maxlen=_WINDOW)
        self._tokens: deque[tuple[float, int]] = deque()
        self._ended: Counter[bool] = Counter()  # by whether it failed
        self._prompts: list[tuple[int, int]] = []  # (planned, measured) of the first answers
        self._warning = ""
        self._words: dict[ErrorClass, str] = {}

    def add(self, worker: int, tally: Tally, now_s: float) -> None:
        self._last[worker] = tally
        self._words = dict(tally.words) | self._words
        for _, error, count in tally.ended:
            self._ended[error is not None] += count
        for ttft, late, output, planned, measured in tally.rows:
            if ttft is not None:
                self._ttft_us.append(ttft)
            if late is not None:
                self._late_us.append(late)
            if measured is not None and len(self._prompts) < _FIRST:
                self._prompts.append((planned, measured))
                self._warning = wrong_lengths(self._prompts)
            self._tokens.append((now_s, output or 0))
        while self._tokens and self._tokens[0][0] < now_s - _WINDOW_S:
            self._tokens.popleft()

    def progress(self, now_s: float) -> Progress:
        known = [tally for tally in self._last if tally is not None]
        starts = [tally.profile_start_us for tally in known if tally.profile_start_us is not None]
        in_flight = sum(tally.in_flight for tally in known)
        seconds = min(_WINDOW_S, now_s)
        return Progress(
            phase="profile" if starts else "warmup",
            elapsed_s=now_s,
            profiled_s=max(0.0, now_s - min(starts) / 1e6) if starts else 0.0,
            duration_s=self._duration_s,
            sent=self._ended.total() + in_flight,
            in_flight=in_flight,
            ended=self._ended.total(),
            errors=self._ended[True],
            sessions_completed=sum(tally.sessions_completed for tally in known),
            output_tps=sum(count for _, count in self._tokens) / seconds if self._tokens and seconds > 0 else None,
            ttft_p90_s=_ranked(self._ttft_us, 0.9, 1e6),
            lateness_p99_ms=_ranked(self._late_us, 0.99, 1e3),
            told=tuple(self._told()),
        )

    def _told(self) -> Iterator[str]:
        if self._warning:
            yield f"warning: {self._warning}"
        yield from (f"first {error}: {words}" for error, words in self._words.items())


def wrong_lengths(prompts: Sequence[tuple[int, int]]) -> str:
    """What a person should know of (planned, measured) prompt lengths; empty while nothing is wrong with them."""
    if len(prompts) < _FIRST:
        return ""
    share = median((measured - planned) / planned for planned, measured in prompts)
    if abs(share) <= WRONG_SHARE:
        return ""
    return (
        f"the server counts {share:+.0%} prompt tokens against the plan in the first {len(prompts)} answers: "
        "is --tokenizer the one of its model?"
    )


def _ranked(values: deque[int], share: float, unit: float) -> float | None:
    if not values:
        return None
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))] / unit
