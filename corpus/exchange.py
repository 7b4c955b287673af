"""Captures: what the proxy heard, one request and at most one response per exchange.

These records are private: they hold bodies byte for byte and ids as the client sent them. Two records per exchange are
stored, the request when its body is complete, the response when it ended for whatever reason, so a crash in between
leaves a request without a response and never silence. Times are Unix microseconds.

A turn on a WebSocket is an exchange of api `openai-responses-ws`. Method, path and headers are those of the handshake.
The request's body is the client's message as it was; the response's body is the server's messages, a line feed after
each. A message is one chunk, its line feed counted, so `messages` gives back each one exactly, even if it holds line
feeds itself. `status` is what the same answer over HTTP would have: 200 when the model answers, an error message's own
status else. A message outside a turn is an exchange of api `other`. What a turn's input builds on is linked
(`previous`) and not repeated: `corpus.turns` makes bodies whole again. A handshake is an exchange of its own only when
no turn came of it: the first exchange on its connection has its id, so the later of two requests with one id counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

from wire.api import Api
from wire.usage import Usage

End = Literal[
    "complete",
    "client_abort",
    "upstream_reset",
    "upstream_refused",
    "tls_failed",
    "timeout",
    "sse_error",
    "proxy_shutdown",
    "unknown",
]
Purpose = Literal[
    "turn",
    "title",
    "side_question",
    "compaction",
    "classifier",
    "web_search",
    "web_fetch",
    "count_tokens",
    "prewarm",
    "memory",
    "review",
    "guardian",
    "hook",
    "probe",
    "other",
]
AgentKind = Literal["main", "subagent", "workflow", "fork", "side", "hook"]
# How the client came to the recorder: by a base URL, or by a proxy setting and the recorder's certificate authority.
Mode = Literal["reverse", "forward"]
GapCause = Literal["paused", "opted_out", "backlog", "disk", "fault"]

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Identity:
    """Who sent a request and what for, as far as headers and body tell. Ids are the client's own strings."""

    session_id: str | None = None
    agent_id: str | None = None  # None: the main agent
    parent_agent_id: str | None = None  # None: child of main, or main itself
    agent_name: str | None = None  # Codex: path of task names, "/root/alpha"; used to link spawn calls to children
    agent_kind: AgentKind = "main"
    purpose: Purpose = "other"
    turn_id: str | None = None
    harness: str | None = None  # "claude-code", "codex", ...
    harness_version: str | None = None
    model: str | None = None
    stream: bool | None = None
    session_guessed: bool = False  # the request names no session but its own; attached by installation and time
    # A second conversation under the same agent id (Claude Code's hooks): digest of the prefix that its requests share.
    conversation: str | None = None


@dataclass(frozen=True, slots=True)
class RequestRecord:
    exchange_id: str  # made by the proxy, unique, sorts by time
    t_request_us: int  # request head heard
    t_body_us: int  # body complete
    method: str
    path: str  # with query; values of secret-looking query keys removed
    api: Api
    upstream: str  # base URL the request was passed to
    headers: Headers  # allow-listed names with values; any other name with "<n bytes>" instead of its value
    identity: Identity
    retry_of: str | None  # exchange_id of an earlier failed attempt with the same body
    body_bytes: int  # length of the body on the wire; known also where `body` was not loaded
    body: bytes = field(repr=False)  # exactly as on the wire
    contributor: str | None = None  # name of the access token it came with; private, for counting and withdrawal
    mode: Mode = "reverse"
    previous: str | None = None  # WebSocket turn: exchange_id of the one whose input and output come before this input


@dataclass(frozen=True, slots=True)
class ResponseRecord:
    exchange_id: str
    end: End
    status: int | None  # None: no response head came
    headers: Headers
    t_headers_us: int | None
    t_first_byte_us: int | None  # first body byte
    t_end_us: int
    chunk_sizes: tuple[int, ...]  # bytes per network read, in order
    chunk_times_us: tuple[int, ...]  # arrival of each, microseconds after t_request_us
    usage: Usage | None
    error: str | None  # the recorder's own words on an abnormal end, content-free
    body_bytes: int  # length of `body`; known also where it was not loaded
    body: bytes = field(repr=False)  # exactly as on the wire, truncated where the stream was

    @property
    def messages(self) -> tuple[bytes, ...]:
        """The server's messages of a WebSocket turn; nothing when the body was not kept or not loaded."""
        ends = tuple(accumulate(self.chunk_sizes))
        if not self.body or ends[-1:] != (len(self.body),):
            return ()
        return tuple(self.body[end - size : end - 1] for end, size in zip(ends, self.chunk_sizes, strict=True))


@dataclass(frozen=True, slots=True)
class GapRecord:
    """A stretch of time of which something that was heard is missing here. Says how much, never what."""

    cause: GapCause
    t_start_us: int
    t_end_us: int
    count: int  # exchanges for "paused" and "opted_out", records else


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request with its response; `response` is None when the recorder died before the end."""

    request: RequestRecord
    response: ResponseRecord | None

    @property
    def end(self) -> End:
        return self.response.end if self.response else "unknown"
