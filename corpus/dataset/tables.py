"""The tables of a published dataset, and what every column means: the card's field list is made from here.

| config   | a row is  | for whom                                                                             |
|----------|-----------|--------------------------------------------------------------------------------------|
| requests | a request | the default: one line loads prompt blocks whole, segments, times, and what it waited for |
| sessions | a session | browsing and choosing                                                                |
| weka     | a session | programs that read the public cc-traces sets: the same columns                       |

The corpus's own five tables, in which a prompt is what it adds to an earlier one, are configs too (`native`, ...).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
import pyarrow as pa

from corpus.blocks import expand_blocks, expand_segments, repeated_tokens
from corpus.formats.weka_writer import session_to_weka
from corpus.graph import task_time_us
from corpus.session import Edge, Session

Row = dict[str, Any]
RELEASE: Final = "release"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: pa.DataType
    meaning: str
    nullable: bool = False


def _list(kind: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", kind, nullable=False))


def _struct(*names: tuple[str, pa.DataType]) -> pa.DataType:
    return pa.struct([pa.field(name, kind, nullable=False) for name, kind in names])


_INT, _LONG, _WORD, _FLAG = pa.int32(), pa.int64(), pa.string(), pa.bool_()
_SEGMENT = _struct(("role", _WORD), ("tokens", _LONG))
_WAIT = _struct(("request", _INT), ("kind", _WORD), ("delay_us", _LONG), ("anchor", _WORD), ("evidence", _WORD))

REQUESTS: Final = (
    Column("session", _INT, "number of the session in this release"),
    Column("request", _INT, "number of the request in its session, by start"),
    Column("agent", _INT, "0 is the main agent"),
    Column("agent_kind", _WORD, "main, subagent, workflow, fork, side or hook"),
    Column("parent_agent", _INT, "who started the agent; null: nobody, or unknown", nullable=True),
    Column("purpose", _WORD, "turn, title, compaction, web_search, ..."),
    Column("harness", _WORD, "the client program; null: unknown", nullable=True),
    Column("model", _WORD, "public model name"),
    Column("api", _WORD, "protocol"),
    Column("stream", _FLAG, "whether the answer was streamed", nullable=True),
    Column("t_start_us", _LONG, "microseconds since the session's first request"),
    Column("t_first_us", _LONG, "first token; null: unknown", nullable=True),
    Column("t_end_us", _LONG, "end of the answer; null: unknown", nullable=True),
    Column("end", _WORD, "how it ended: complete, client_abort, ..."),
    Column("stop", _WORD, "the provider's reason to stop; empty: unknown"),
    Column("input_kinds", _list(_WORD), "what the newest message brought"),
    Column("output_kinds", _list(_WORD), "what the answer held"),
    Column("input_tokens", _LONG, "the whole prompt"),
    Column("repeated_tokens", _LONG, "of them in the longest prefix that an earlier prompt of the session had"),
    Column("output_tokens", _LONG, "null: unknown", nullable=True),
    Column("block_size", _INT, "tokens a block"),
    Column("hash_ids", _list(_LONG), "the prompt as blocks: equal numbers, equal text up to there, in this session"),
    Column("segments", _list(_SEGMENT), "the prompt as messages: role and tokens; null: unknown", nullable=True),
    Column("waits_for", _list(_WAIT), "requests that had to end (or start) first, with the recorded delay"),
    Column(RELEASE, _WORD, "tag of the release"),
)
SESSIONS: Final = (
    Column("session", _INT, "number of the session in this release"),
    Column("harness", _WORD, "the client program; null: unknown", nullable=True),
    Column("models", _list(_WORD), "public model names, by first use"),
    Column("requests", _INT, "how many"),
    Column("agents", _INT, "how many, the main agent included"),
    Column("tool_calls", _INT, "how many"),
    Column("spawns", _INT, "how often an agent was started or given more to do"),
    Column("joins", _INT, "how often a request waited for another agent"),
    Column("duration_us", _LONG, "first start to last end"),
    Column("input_tokens", _LONG, "of all prompts"),
    Column("repeated_tokens", _LONG, "of them repeated from earlier prompts of the session"),
    Column("output_tokens", _LONG, "of all answers whose length is known"),
    Column("max_input_tokens", _LONG, "the longest prompt"),
    Column(RELEASE, _WORD, "tag of the release"),
)
# As in the public sets: requests differ in their keys, so each is a JSON value of its own.
WEKA: Final = (
    Column("id", _WORD, "name of the session in this release"),
    Column("models", _list(_WORD), "public model names"),
    Column("block_size", _LONG, "tokens a block"),
    Column("hash_id_scope", _WORD, "local: numbers are the session's own"),
    Column("tool_tokens", _LONG, "of the tools in front, as far as whole blocks hold them"),
    Column("system_tokens", _LONG, "of the system prompt behind them, likewise"),
    Column("requests", _list(pa.json_()), "requests, and groups of a sub-agent's requests, by time"),
    Column("totals", pa.json_(), "sums; empty where a trace came without"),
)


def request_rows(session: Session, release: str) -> Iterator[Row]:
    waits: dict[int, list[Edge]] = {}
    for edge in session.edges:
        waits.setdefault(edge.dst, []).append(edge)
    prompts = expand_blocks([request.blocks for request in session.requests])
    segments = expand_segments(session.requests)
    for request in session.requests:
        agent = session.agents[request.agent]
        known = {c.name: getattr(request, c.name) for c in REQUESTS if c.name in type(request).__slots__}
        yield known | {
            "session": session.session,
            "agent_kind": agent.kind,
            "parent_agent": agent.parent,
            "harness": session.harness,
            "model": session.models[request.model],
            "repeated_tokens": repeated_tokens(request, session.block_size),
            "block_size": session.block_size,
            "hash_ids": prompts[request.request],
            "segments": None
            if request.segments is None
            else [{"role": role, "tokens": tokens} for role, tokens in segments[request.request]],
            "waits_for": [
                {
                    "request": edge.src,
                    "kind": edge.kind,
                    "delay_us": edge.delay_us,
                    "anchor": edge.anchor,
                    "evidence": edge.evidence,
                }
                for edge in waits.get(request.request, ())
            ],
            RELEASE: release,
        }


def session_rows(session: Session, release: str) -> Iterator[Row]:
    kinds = [edge.kind for edge in session.edges]
    yield {
        "session": session.session,
        "harness": session.harness,
        "models": session.models,
        "requests": len(session.requests),
        "agents": len(session.agents),
        "tool_calls": len(session.tool_calls),
        "spawns": kinds.count("spawn"),
        "joins": kinds.count("join"),
        "duration_us": task_time_us(session.requests),
        "input_tokens": sum(request.input_tokens for request in session.requests),
        "repeated_tokens": sum(repeated_tokens(request, session.block_size) for request in session.requests),
        "output_tokens": sum(request.output_tokens or 0 for request in session.requests),
        "max_input_tokens": max(request.input_tokens for request in session.requests),
        RELEASE: release,
    }


def weka_rows(session: Session, release: str) -> Iterator[Row]:  # noqa: ARG001 - the public sets have no such column
    trace = session_to_weka(session)
    if not trace["requests"]:
        return  # nothing of it was answered
    plain = {column.name: trace.get(column.name, 0) for column in WEKA}
    yield plain | {
        "requests": [orjson.dumps(entry).decode() for entry in trace["requests"]],
        "totals": orjson.dumps(trace.get("totals", {})).decode(),
    }


@dataclass(frozen=True, slots=True)
class Config:
    columns: tuple[Column, ...]
    rows: Callable[[Session, str], Iterator[Row]]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([pa.field(c.name, c.kind, nullable=c.nullable) for c in self.columns])


CONFIGS: Final[Mapping[str, Config]] = {
    "requests": Config(REQUESTS, request_rows),
    "sessions": Config(SESSIONS, session_rows),
    "weka": Config(WEKA, weka_rows),
}
