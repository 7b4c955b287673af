"""What `publish` makes of a session: the public column of the policy table, applied.

Pure: a session in, the same session coarser. Most columns are changed value by value. Two are changed by the session
as a whole, since their values belong together:

* the clock: long pauses, in which nothing was in flight, are shortened; then every moment goes down to the grid.
  Order and causes survive: moments keep their order, a request that would come before its turn starts one step
  later, and edges' delays are taken anew from the public moments.
* the lengths: a prompt counts its whole blocks, and every segment ends where a whole block does, tools and system
  prompts at coarser steps. A segment's public end follows from what stands before it, so prompts that share a prefix
  still share its segments.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import accumulate
from typing import Any

from anonymize.heads import HEAD_ROLES
from anonymize.policy import HEAD_STEP_TOKENS, PAUSE_CAP_US, TIME_GRID_US, LeakError, Treatment, rule_of
from corpus.blocks import SegmentList, count_blocks, encode_segments, expand_segments
from corpus.session import Attempt, Edge, Request, Role, Session


def public_session(session: Session) -> Session:
    """`LeakError` when the session holds a field that the table does not know, or a word without a public one."""
    requests = _on_public_clock(session.requests)
    requests = in_whole_blocks(requests, session.block_size, HEAD_STEP_TOKENS)
    edges = tuple(replace(edge, delay_us=_delay_us(edge, requests)) for edge in session.edges)
    public: Session = _apply(replace(session, requests=requests, edges=edges))
    return public


def _apply(record: Any) -> Any:
    """Every field by its own treatment; those of the clock and the lengths are done."""
    changed: dict[str, Any] = {}
    for part in fields(record):
        treatment = rule_of(record, part.name).public
        if treatment.by == "value":
            changed[part.name] = _treated(getattr(record, part.name), treatment, f"{type(record).__name__}.{part.name}")
    return replace(record, **changed)


def _treated(value: Any, treatment: Treatment, name: str) -> Any:
    if value is None or treatment.kind == "dropped":
        return () if isinstance(value, tuple) else None
    if isinstance(value, tuple):
        limit = treatment.limit if treatment.kind == "capped" else len(value)
        return tuple(_treated(item, treatment, name) for item in value[:limit])
    if is_dataclass(value):
        return _apply(value)
    match treatment.kind:
        case "enumerated":
            return _word(value, treatment, name)
        case "quantised":
            return value if value <= treatment.above else value // treatment.step * treatment.step
        case _:
            return value


def _word(value: Any, treatment: Treatment, name: str) -> str:
    word = treatment.word(value) if treatment.word and isinstance(value, str) else None
    if word is None:
        raise LeakError(f"{name} holds a word that no list knows")
    return word


def _on_public_clock(requests: Sequence[Request]) -> tuple[Request, ...]:
    clock = _Clock(requests)
    made: list[Request] = []
    for request in requests:
        start = clock.public_us(request.t_start_us)
        if made:
            before = made[-1]
            ahead = (request.agent, request.position) < (before.agent, before.position)
            start = max(start, before.t_start_us + TIME_GRID_US * ahead)
        first, end = (
            None if moment is None else max(start, clock.public_us(moment))
            for moment in (request.t_first_us, request.t_end_us)
        )
        attempts = tuple(_coarser(attempt) for attempt in request.attempts)
        made.append(replace(request, t_start_us=start, t_first_us=first, t_end_us=end, attempts=attempts))
    return tuple(made)


def _coarser(attempt: Attempt) -> Attempt:
    lead, length = (None if us is None else _on_grid(us) for us in (attempt.lead_us, attempt.duration_us))
    return replace(attempt, lead_us=lead or 0, duration_us=length)


def _on_grid(duration_us: int) -> int:
    return min(duration_us, PAUSE_CAP_US) // TIME_GRID_US * TIME_GRID_US


class _Clock:
    """Recorded moments to public ones: from 0, without what pauses last beyond the cap, on the grid."""

    def __init__(self, requests: Sequence[Request]) -> None:
        busy_until = self._origin = requests[0].t_start_us if requests else 0
        self._from: list[int] = []  # moments from which on more is cut
        cuts = []
        for request in requests:
            pause = request.t_start_us - busy_until
            if pause > PAUSE_CAP_US:
                self._from.append(request.t_start_us)
                cuts.append(pause - PAUSE_CAP_US)
            known = (request.t_start_us, request.t_first_us, request.t_end_us)
            busy_until = max(busy_until, *(moment for moment in known if moment is not None))
        self._cut = [0, *accumulate(cuts)]

    def public_us(self, moment_us: int) -> int:
        past = moment_us - self._origin - self._cut[bisect_right(self._from, moment_us)]
        return past // TIME_GRID_US * TIME_GRID_US


def in_whole_blocks(requests: Sequence[Request], block_size: int, head_step: int) -> tuple[Request, ...]:
    """Prompts and segments end where whole blocks do; tools and system prompts at `head_step` tokens."""
    head_step = max(head_step // block_size, 1) * block_size
    rounded = [_rounded(segments, block_size, head_step) for segments in expand_segments(requests)]
    deltas = encode_segments(rounded, [request.blocks for request in requests])
    return tuple(
        replace(
            request,
            input_tokens=block_size * count_blocks(request.blocks),
            segments=None if request.segments is None else delta,
        )
        for request, delta in zip(requests, deltas, strict=True)
    )


def _rounded(segments: SegmentList, block_size: int, head_step: int) -> SegmentList:
    made: list[tuple[Role, int]] = []
    end = public_end = 0
    for role, tokens in segments:
        end += tokens
        step = head_step if role in HEAD_ROLES else block_size
        before, public_end = public_end, max(public_end, end // step * step)
        made.append((role, public_end - before))
    return tuple(made)


def _delay_us(edge: Edge, requests: Sequence[Request]) -> int:
    src, dst = requests[edge.src], requests[edge.dst]
    anchor = src.t_end_us if edge.anchor == "end" else src.t_start_us
    if anchor is None:  # an import that does not say when it ended
        return _on_grid(edge.delay_us)
    return max(0, dst.t_start_us - anchor)
