"""Edges of asides: requests beside the conversation, such as titles, searches and permission checks.

A search, a fetch, a check or a hook works for a tool call: it hangs on the answer that made the call and joins the
request that carries the call's result. Which call is told by what was open then; asides carry no agent id, so the call
also says whom they serve. Any other aside hangs on the most recent earlier step of the agent it serves; only those
whose answer is needed join back, into that agent's next step. An aside that repeats the beginning of an earlier one
with the same purpose and the same ends came after it: it hangs on that one, and only the last of them joins. An aside
before the first step (a title, most often) is a root.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from corpus.exchange import Purpose
from corpus.session import Edge, Evidence, Request, ToolCall
from dagbuild.sequence import retry_edge
from dagbuild.streams import Aside, Streams, first_after, most_recent

# The tool calls that an aside can work for; None: any.
_WORKS_FOR: Final[dict[Purpose, frozenset[str] | None]] = {
    "web_search": frozenset({"web"}),
    "web_fetch": frozenset({"web"}),
    "classifier": None,
    "guardian": None,
    "hook": None,
}


@dataclass(frozen=True, slots=True)
class _Place:
    """Between which requests an aside stands, by number."""

    purpose: Purpose
    src: int | None
    dst: int | None
    evidence: Evidence


def aside_edges(streams: Streams) -> Iterator[Edge]:
    requests = streams.session.requests
    repeated = {request.retry_of for request in requests}
    runs: defaultdict[_Place, list[list[Request]]] = defaultdict(list)
    for aside in streams.asides:
        place = _place(streams, aside)
        run = _followed(streams, runs[place], aside) if aside.returns else None
        if again := retry_edge(streams, aside.request):
            yield again
        elif run is not None:
            yield streams.link(run[-1], aside.request, "sequence", "prefix")
        elif place.src is not None:
            yield streams.link(requests[place.src], aside.request, "aux", place.evidence)
        if run is None:
            runs[place].append([aside.request])
        else:
            run.append(aside.request)
    for place, found in runs.items():
        for run in found:
            if place.dst is not None and run[-1].request not in repeated:
                yield streams.link(run[-1], requests[place.dst], "join", place.evidence)


def _followed(streams: Streams, runs: Sequence[list[Request]], aside: Aside) -> list[Request] | None:
    return next(
        (
            run
            for run in reversed(runs)
            if streams.waits(run[-1], aside.request) and streams.prefixes.shared(run[-1].request, aside.request.request)
        ),
        None,
    )


def _place(streams: Streams, aside: Aside) -> _Place:
    call, evidence = _served_call(streams, aside)
    if call is not None:
        return _Place(aside.request.purpose, call.emit, call.result, evidence)
    served = streams.by_agent[aside.serves]
    src = most_recent(served, aside.request)
    dst = first_after(served, aside.request) if aside.returns else None
    return _Place(
        aside.request.purpose, None if src is None else src.request, None if dst is None else dst.request, "timing"
    )


def _served_call(streams: Streams, aside: Aside) -> tuple[ToolCall | None, Evidence]:
    """The call that was open, and "tool_result" when all that were open belong to one answer and one result."""
    if aside.request.purpose not in _WORKS_FOR:
        return None, "timing"
    calls = [call for call in streams.session.tool_calls if _is_open(streams, call, aside)]
    found = max(calls, key=lambda call: (call.emit, call.result is not None, call.call), default=None)
    return found, "tool_result" if len({(call.emit, call.result) for call in calls}) == 1 else "timing"


def _is_open(streams: Streams, call: ToolCall, aside: Aside) -> bool:
    """Main's name on an aside says nothing about whom it serves, any other agent's does."""
    number, tools = aside.request.request, _WORKS_FOR[aside.request.purpose]
    if not (call.emit < number and (call.result is None or call.result > number)):
        return False
    emitter = streams.session.requests[call.emit].agent
    if aside.request.agent != 0 and emitter != aside.serves:
        return False
    return (tools is None or call.tool in tools) and not _has_started(streams, call, number)


def _has_started(streams: Streams, call: ToolCall, number: int) -> bool:
    """Whether the call's own agent runs already: then nobody checks or serves the call any more."""
    return call.spawned is not None and any(
        call.emit < step.request < number for step in streams.by_agent[call.spawned][:1]
    )
