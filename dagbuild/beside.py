"""Edges of conversations found beside an agent's own: what ids would have said, told from prompts and times.

Each starts after the agent's most recent step, or after the end of another one that was found and ended since then: one
stage after the other. It is a fork where it begins with an earlier prompt. The agent's first step after its end joins
it. A one-off joins nothing, as the published method says.
"""

from __future__ import annotations

from collections.abc import Iterator

from corpus.graph import end_us
from corpus.session import Edge, Request
from dagbuild.streams import Stream, Streams, first_after, most_recent


def beside_edges(streams: Streams) -> Iterator[Edge]:
    for stream in streams.beside:
        own, first, last = streams.by_agent[stream.agent], stream.requests[0], _last(stream)
        recent = most_recent(own, first)
        if stream.kind == "one_off":
            if recent is not None:
                yield streams.link(recent, first, "aux", "timing")
            continue
        src = _ended_since(streams, stream, recent) or recent
        if src is not None:
            yield streams.link(src, first, "spawn", "timing" if stream.fork_of is None else "fork")
        if dst := first_after(own, last):
            yield streams.link(last, dst, "join", "timing")


def _ended_since(streams: Streams, stream: Stream, recent: Request | None) -> Request | None:
    """The last step of the conversation beside that ended last, after the agent's recent step had begun."""
    others = [
        last
        for other in streams.beside
        if other.agent == stream.agent and other.kind != "one_off" and other is not stream
        if streams.waits(last := _last(other), stream.requests[0])
        if recent is None or end_us(last) >= recent.t_start_us
    ]
    return max(others, key=lambda last: (end_us(last), last.request), default=None)


def _last(stream: Stream) -> Request:
    return max(stream.requests, key=lambda step: (end_us(step), step.request))
