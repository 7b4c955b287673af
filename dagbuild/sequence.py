"""Edges inside one stream: each step waits for the one before it, a retry for the attempt that failed.

Where steps overlap, the later one hangs on the start of the earlier (anchor "start"), and the first step that begins
after the earlier one's end waits for it as well, so that nothing in a stream ends unheard while the stream goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corpus.session import Edge, Evidence, Request
from dagbuild.streams import Streams


def sequence_edges(streams: Streams) -> Iterator[Edge]:
    attempts = first_attempts(streams.session.requests)
    for requests in (*streams.by_agent.values(), *(stream.requests for stream in streams.beside)):
        yield from _chain(streams, requests, attempts)


def retry_edge(streams: Streams, retry: Request) -> Edge | None:
    """From the attempt that the recorder names; None when the request is no retry."""
    if retry.retry_of is None:
        return None
    return streams.link(streams.session.requests[retry.retry_of], retry, "retry", "id")


def first_attempts(requests: Sequence[Request]) -> list[int]:
    """For each request the number of the first attempt at it, its own when it is no retry."""
    first: list[int] = []
    for request in requests:
        first.append(request.request if request.retry_of is None else first[request.retry_of])
    return first


def _chain(streams: Streams, requests: Sequence[Request], attempts: Sequence[int]) -> Iterator[Edge]:
    unheard: list[Request] = []  # steps that no later step has waited for yet
    for dst in requests:
        heard = [src for src in unheard if streams.waits(src, dst)]
        overlapped = [src for src in unheard[-1:] if src not in heard]  # the step just before is always the last here
        retried = False
        for src in heard + overlapped:
            again = attempts[src.request] == attempts[dst.request]
            retried |= again
            yield streams.link(
                src, dst, "retry" if again else "sequence", "id" if again else _evidence(streams, src, dst)
            )
        if not retried and (edge := retry_edge(streams, dst)):
            yield edge
        unheard = [*(src for src in unheard if src not in heard), dst]


def _evidence(streams: Streams, src: Request, dst: Request) -> Evidence:
    if streams.session.source_format == "capture":
        return "id"
    return "prefix" if streams.prefixes.shared(src.request, dst.request) else "timing"
