"""Edges of asides: requests beside the conversation, such as titles, searches and permission checks.

A search, a fetch or a check works for a tool call: it hangs on the answer that made the call and joins the request that
carries the call's result. Which call is told by what was open then; asides carry no agent id, so the call also says
whom they serve. Any other aside hangs on the most recent earlier step of the agent it serves; only those whose answer
is needed join back, into that agent's next step. An aside before the first step (a title, most often) is a root.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from corpus.exchange import Purpose
from corpus.session import Edge, Evidence, ToolCall
from dagbuild.sequence import retry_edge
from dagbuild.streams import Aside, Streams, first_after, most_recent

# The tool calls that an aside can work for; None: any.
_WORKS_FOR: Final[dict[Purpose, frozenset[str] | None]] = {
    "web_search": frozenset({"web"}),
    "web_fetch": frozenset({"web"}),
    "classifier": None,
    "guardian": None,
}


def aside_edges(streams: Streams) -> Iterator[Edge]:
    repeated = {request.retry_of for request in streams.session.requests}
    for aside in streams.asides:
        call, evidence = _served_call(streams, aside)
        again = retry_edge(streams, aside.request)
        if again:
            yield again
        if call is None:
            yield from _by_time(streams, aside, hangs=not again, joins=aside.request.request not in repeated)
            continue
        emit = streams.session.requests[call.emit]
        if not again:
            yield streams.link(emit, aside.request, "aux", evidence)
        if call.result is not None and aside.request.request not in repeated:
            yield streams.link(aside.request, streams.session.requests[call.result], "join", evidence)


def _by_time(streams: Streams, aside: Aside, *, hangs: bool, joins: bool) -> Iterator[Edge]:
    served = streams.by_agent[aside.serves]
    if hangs and (src := most_recent(served, aside.request)):
        yield streams.link(src, aside.request, "aux", "timing")
    if aside.returns and joins and (dst := first_after(served, aside.request)):
        yield streams.link(aside.request, dst, "join", "timing")


def _served_call(streams: Streams, aside: Aside) -> tuple[ToolCall | None, Evidence]:
    """The call that was open, and "tool_result" when all that were open belong to one answer and one result."""
    purpose, number = aside.request.purpose, aside.request.request
    if purpose not in _WORKS_FOR:
        return None, "timing"
    tools = _WORKS_FOR[purpose]
    opened = [
        call
        for call in streams.session.tool_calls
        if call.emit < number
        and (call.result is None or call.result > number)
        and (tools is None or call.tool in tools)
    ]
    return _most_recent(opened, streams, aside), "tool_result" if _agree(opened) else "timing"


def _most_recent(calls: Sequence[ToolCall], streams: Streams, aside: Aside) -> ToolCall | None:
    own = [call for call in calls if streams.session.requests[call.emit].agent == aside.serves]
    return max(own or calls, key=lambda call: (call.emit, call.result is not None, call.call), default=None)


def _agree(calls: Sequence[ToolCall]) -> bool:
    return len({(call.emit, call.result) for call in calls}) == 1
