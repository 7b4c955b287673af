"""Edges of asides: requests beside the conversation, such as titles, searches and permission checks.

Each hangs on the most recent earlier step of the agent it serves; only those whose answer is needed join back, into
that agent's next step. An aside before the first step (a title, most often) is a root.
"""

from __future__ import annotations

from collections.abc import Iterator

from corpus.session import Edge
from dagbuild.sequence import retry_edge
from dagbuild.streams import Streams, first_after, most_recent


def aside_edges(streams: Streams) -> Iterator[Edge]:
    repeated = {request.retry_of for request in streams.session.requests}
    for aside in streams.asides:
        served = streams.by_agent[aside.serves]
        request = aside.request
        if edge := retry_edge(streams, request):
            yield edge
        elif src := most_recent(served, request):
            yield streams.link(src, request, "aux", "timing")
        if aside.returns and request.request not in repeated and (dst := first_after(served, request)):
            yield streams.link(request, dst, "join", "timing")
