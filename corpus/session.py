"""The corpus: sessions as integers and enums, nothing that was written by a person or a model.

Naming law: times are `_us` integers from the session's first request start; counts are `_tokens`; ids are dense
integers by first appearance in the session; None is "unknown", never zero. `recorded_` is what was heard,
`planned_` what replay is asked to do, `measured_` what replay saw.

Agent 0 is the main agent. Requests are sorted by (start, agent, position) and `request` numbers that order. A request's
block list is a delta to an earlier request (`corpus.blocks`), its segments likewise.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from corpus.exchange import AgentKind, End, Purpose
from wire import shapes
from wire.api import Api
from wire.usage import Usage

Role = shapes.Role  # a segment has the role of the parts it was made of
ToolClass = Literal["shell", "read", "edit", "search", "web", "mcp", "agent", "other"]
EdgeKind = Literal["sequence", "spawn", "join", "aux", "retry"]
Anchor = Literal["end", "start"]
Evidence = Literal["id", "tool_result", "notification", "agent_message", "fork", "prefix", "timing"]
SourceFormat = Literal["capture", "weka", "mooncake", "bailian", "dag_jsonl"]
WekaDialect = Literal["kv-cache-tester", "semianalysis", "aiperf"]
MooncakeDialect = Literal["plain", "sessions", "delta", "agentic"]
SourceDialect = Literal[WekaDialect, MooncakeDialect]


@dataclass(frozen=True, slots=True)
class Blocks:
    """Prompt blocks of a request: the first `keep` blocks of request `base`, then runs of consecutive new ids."""

    base: int  # request number, smaller than the owner's; -1: none
    keep: int
    run_start: tuple[int, ...]
    run_len: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Segments:
    """Prompt segments of a request: the first `keep` segments of request `Blocks.base`, then these."""

    keep: int
    roles: tuple[Role, ...]
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Agent:
    agent: int
    parent: int | None  # None: main, or unknown
    kind: AgentKind
    source: str | None = None  # JSON of what an imported format declares about the agent; always None from `build`


@dataclass(frozen=True, slots=True)
class Attempt:
    """A try at a request that came to nothing and is no request of its own here."""

    lead_us: int  # from its start to the start of the request that came of it
    duration_us: int | None  # None: its end was not heard
    end: End
    status: int | None
    repeated: bool  # the request has the same body; else the client gave up on it, and the request came next


@dataclass(frozen=True, slots=True)
class Request:
    request: int
    agent: int
    position: int  # order in the source: running number of WEKA entries (groups count), order of arrival in a capture
    purpose: Purpose
    api: Api
    stream: bool | None
    model: int  # index into Session.models
    t_start_us: int
    t_first_us: int | None
    t_end_us: int | None  # None: unknown (a source without api_time)
    end: End
    status: int | None
    retry_of: int | None  # request number of a failed attempt that was kept as a request; others are `attempts`
    stop: str  # provider's stop reason from a fixed list; "" unknown
    input_kinds: tuple[str, ...]
    output_kinds: tuple[str, ...]
    input_tokens: int  # whole prompt, locally counted (WEKA: `in`)
    output_tokens: int | None
    usage: Usage | None  # the provider's own count, kept apart
    blocks: Blocks
    segments: Segments | None  # None: the source has no boundaries
    recorded_think_us: int | None = None  # as the source states them, kept apart from what is derived
    recorded_api_us: int | None = None
    recorded_ttft_us: int | None = None
    attempts: tuple[Attempt, ...] = ()  # by start


@dataclass(frozen=True, slots=True)
class Delivery:
    """`request` is the first one whose prompt carries what a spawned agent reported back."""

    request: int
    evidence: Evidence  # tool_result, notification or agent_message


@dataclass(frozen=True, slots=True)
class ToolCall:
    call: int
    emit: int  # request whose answer made the call
    result: int | None  # first request whose prompt carries the result
    tool: ToolClass
    is_error: bool | None
    spawned: int | None  # agent this call started or re-tasked
    deliveries: tuple[Delivery, ...]  # reports of that agent, in order, other than the plain result above


@dataclass(frozen=True, slots=True)
class Edge:
    """`dst` may not be sent before `src` ended (or, anchor "start", started) and `delay_us` passed since.

    `delay_us` is what was recorded between the two moments. Edges are authoritative: several spawns into one agent are
    several edges.
    """

    src: int
    dst: int
    kind: EdgeKind
    delay_us: int
    anchor: Anchor
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Session:
    session: int  # dense in the corpus
    source_format: SourceFormat
    source_dialect: SourceDialect | None
    harness: str | None  # from a fixed list
    harness_version: tuple[int, ...]
    block_size: int  # tokens
    models: tuple[str, ...]  # public names from a fixed list or pattern, else "other"; verbatim for imports
    agents: tuple[Agent, ...]
    requests: tuple[Request, ...]
    tool_calls: tuple[ToolCall, ...] = ()
    edges: tuple[Edge, ...] = ()
    source: str | None = None  # JSON object of what an imported format says, its name under "id"; None from `build`

    @property
    def label(self) -> str:
        """How to name the session to a person: the import's own id where there is one, else counted from 1."""
        imported = json.loads(self.source).get("id") if self.source else None
        return imported if isinstance(imported, str) else f"session-{self.session + 1}"
