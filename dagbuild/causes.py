"""What the time between two steps of a stream was spent on: one table, the first cause that fits.

    cause    the step waited for ...
    retry    the client to ask the same again after nothing came; where attempts are folded, for most of the gap
    agent    a child's report: its notification or message is in the prompt, or the result of the call that started it;
             or, in a child, its parent's next task
    tool     the result of a tool call of the step before; the acknowledgement of a launch is one
    harness  nobody: the context was or is being compacted, the answer was cut (or refused) and is asked to go on, or
             an aside takes another turn
    human    a person: new words of the user are in the prompt and nothing above is

A captured session knows its calls and the roles of what is new in a prompt. A trace states what an answer stopped with
and what a prompt brought, or it does not, and then the cause is unknown (None).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from corpus.purpose import STEPS
from corpus.session import Edge, Request, Role, Session, ToolCall

Cause = Literal["retry", "agent", "tool", "harness", "human"]

_CALLING: Final = frozenset({"tool_use", "tool_calls"})
_CUT: Final = frozenset({"max_tokens", "length", "refusal", "pause_turn", "incomplete"})
_DONE: Final = frozenset({"end_turn", "stop", "stop_sequence", "completed"})


@dataclass(frozen=True, slots=True)
class _Gap:
    edge: Edge
    before: Request
    after: Request
    calls: Sequence[ToolCall]  # of the step before, with their results in the step after
    told: bool  # by another agent: a child's report came with the step after, or a parent's task
    new: frozenset[Role]  # roles of what the step after added to the one before; empty where that is not known


_RULES: Final[tuple[tuple[Cause, Callable[[_Gap], bool]], ...]] = (
    ("retry", lambda gap: gap.edge.kind == "retry" or _asks_again(gap.before, gap.after)),
    ("retry", lambda gap: 2 * retried_us(gap.edge, gap.after) > gap.edge.delay_us),
    ("harness", lambda gap: gap.after.purpose not in STEPS and gap.before.purpose not in STEPS),
    ("agent", lambda gap: gap.told or any(_blocked(call) for call in gap.calls)),
    ("tool", lambda gap: bool(gap.calls) or "tool_result" in gap.after.input_kinds or "tool_result" in gap.new),
    ("harness", lambda gap: "compaction" in (gap.before.purpose, gap.after.purpose) or gap.before.stop in _CUT),
    ("human", lambda gap: "user" in gap.new or "text" in gap.after.input_kinds),
    ("tool", lambda gap: gap.before.stop in _CALLING),
    ("human", lambda gap: gap.before.stop in _DONE and not gap.new),
)


def gap_causes(session: Session) -> list[Cause | None]:
    """One for each edge of the session; only edges of the kinds sequence and retry have any."""
    calls: defaultdict[tuple[int, int | None], list[ToolCall]] = defaultdict(list)
    for call in session.tool_calls:
        calls[call.emit, call.result].append(call)
    told = {delivery.request for call in session.tool_calls for delivery in call.deliveries}
    told |= {edge.dst for edge in session.edges if edge.kind == "spawn"}
    causes: list[Cause | None] = []
    for edge in session.edges:
        before, after = session.requests[edge.src], session.requests[edge.dst]
        gap = _Gap(edge, before, after, calls[edge.src, edge.dst], edge.dst in told, _new_roles(before, after))
        is_gap = edge.kind in ("sequence", "retry")
        causes.append(next((cause for cause, fits in _RULES if fits(gap)), None) if is_gap else None)
    return causes


def retried_us(edge: Edge, after: Request) -> int:
    """How much of a step's gap went by since the first attempt at `after`; attempts kept as steps have gaps too."""
    leads = [attempt.lead_us for attempt in after.attempts if attempt.repeated]
    return min(edge.delay_us, max(leads, default=0)) if edge.kind == "sequence" else 0


def _asks_again(before: Request, after: Request) -> bool:
    """The very prompt of a step that was not answered, which the recorder did not take for a repetition."""
    adds = after.segments is None or after.segments.roles or after.blocks.run_len
    return not (adds or before.output_tokens or before.stop) and after.input_tokens == before.input_tokens


def _blocked(call: ToolCall) -> bool:
    return call.spawned is not None and not call.deliveries


def _new_roles(before: Request, after: Request) -> frozenset[Role]:
    if after.segments is None or after.blocks.base != before.request:
        return frozenset()
    return frozenset(after.segments.roles)
