"""How an exchange that did not complete ended, judged from what the proxy knows and never from error texts.

mitmproxy's own messages are no evidence: "Client disconnected." is what it says when it cut an idle connection itself
or when it is being shut down, and other messages quote content. The words stored with an ending are ours.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import Final, Literal

from corpus.exchange import End

# Why no connection to the upstream came about.
Unreached = Literal["upstream_refused", "tls_failed", "timeout"]

_WORDS: Final[dict[End, str]] = {
    "proxy_shutdown": "the recorder was stopped",
    "timeout": "no byte in either direction for too long",
    "client_abort": "the client closed the connection",
    "tls_failed": "no TLS connection to the upstream",
    "upstream_refused": "no connection to the upstream",
    "upstream_reset": "the upstream closed the connection before the end",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """What is known when an exchange breaks. Times in microseconds."""

    stopping: bool  # the recorder is ending its connections
    client_left: bool
    idle_us: int  # since the last byte of this exchange
    idle_limit_us: int
    request_complete: bool
    server_left: bool  # while the request was passed on to it
    unreached: Unreached | None


def ending_of(failure: Failure) -> End:
    if failure.client_left:
        if failure.stopping:
            return "proxy_shutdown"
        return "timeout" if failure.idle_us >= failure.idle_limit_us else "client_abort"
    if not failure.request_complete and not failure.server_left:
        return "client_abort"  # it broke the protocol, and was answered with an error
    return failure.unreached or "upstream_reset"


def words_for(end: End) -> str | None:
    return _WORDS.get(end)


def unreached_by(error: str | None) -> Unreached:
    """`error`: asyncio's text of a failed connect, which leads with the errno; it quotes no content."""
    return "timeout" if error and f"[Errno {errno.ETIMEDOUT}]" in error else "upstream_refused"
