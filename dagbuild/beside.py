"""Edges of conversations found beside an agent's own: what ids would have said, told from prompts and times.

Each starts after the agent's most recent step, as a fork where it begins with a prompt of that conversation, and is
joined by the agent's first step after its end. A one-off joins nothing, as the published method says.
"""

from __future__ import annotations

from collections.abc import Iterator

from corpus.graph import end_us
from corpus.session import Edge
from dagbuild.streams import Streams, first_after, most_recent


def beside_edges(streams: Streams) -> Iterator[Edge]:
    for stream in streams.beside:
        own, first = streams.by_agent[stream.agent], stream.requests[0]
        src = most_recent(own, first)
        if stream.kind == "one_off":
            if src is not None:
                yield streams.link(src, first, "aux", "timing")
            continue
        if src is not None:
            yield streams.link(src, first, "spawn", "timing" if stream.fork_of is None else "fork")
        last = max(stream.requests, key=lambda step: (end_us(step), step.request))
        if dst := first_after(own, last):
            yield streams.link(last, dst, "join", "timing")
