"""Records as table rows and back: the one place that knows the order of a table's columns.

A row is a tuple in the order of `corpus.schemas`. Building a record from a row checks nothing; `corpus.soundness` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from corpus.session import Agent, Attempt, Blocks, Delivery, Edge, Request, Segments, Session, ToolCall
from wire.usage import Usage

Row = tuple[Any, ...]


def rows_of(session: Session) -> dict[str, list[Row]]:
    """The session's rows in each of the five tables."""
    number = session.session
    return {
        "sessions": [_session_row(session)],
        "agents": [(number, a.agent, a.parent, a.kind, a.source) for a in session.agents],
        "requests": [_request_row(number, request) for request in session.requests],
        "tool_calls": [_call_row(number, call) for call in session.tool_calls],
        "edges": [(number, e.src, e.dst, e.kind, e.delay_us, e.anchor, e.evidence) for e in session.edges],
    }


def session_of(row: Row, parts: dict[str, Iterator[Row]]) -> Session:
    """A session from its own row and its rows in the other tables."""
    number, source_format, dialect, harness, harness_version, block_size, models, source = row
    return Session(
        session=number,
        source_format=source_format,
        source_dialect=dialect,
        harness=harness,
        harness_version=tuple(harness_version),
        block_size=block_size,
        models=tuple(models),
        agents=tuple(Agent(*agent[1:]) for agent in parts["agents"]),
        requests=tuple(_request_of(request) for request in parts["requests"]),
        tool_calls=tuple(_call_of(call) for call in parts["tool_calls"]),
        edges=tuple(Edge(*edge[1:]) for edge in parts["edges"]),
        source=source,
    )


def _session_row(session: Session) -> Row:
    return (
        session.session,
        session.source_format,
        session.source_dialect,
        session.harness,
        session.harness_version,
        session.block_size,
        session.models,
        session.source,
    )


def _request_row(session: int, request: Request) -> Row:
    blocks, segments = request.blocks, request.segments
    return (
        session,
        request.request,
        request.agent,
        request.position,
        request.purpose,
        request.api,
        request.stream,
        request.model,
        request.t_start_us,
        request.t_first_us,
        request.t_end_us,
        request.end,
        request.status,
        request.retry_of,
        request.stop,
        request.input_kinds,
        request.output_kinds,
        request.input_tokens,
        request.output_tokens,
        _usage_row(request.usage),
        blocks.base,
        blocks.keep,
        blocks.run_start,
        blocks.run_len,
        None if segments is None else segments.keep,
        () if segments is None else segments.roles,
        () if segments is None else segments.tokens,
        request.recorded_think_us,
        request.recorded_api_us,
        request.recorded_ttft_us,
        [_attempt_row(attempt) for attempt in request.attempts],
    )


def _request_of(row: Row) -> Request:
    kinds_in, kinds_out, tokens_in, tokens_out, usage = row[15:20]
    base, keep, run_start, run_len, keep_segments, roles, tokens = row[20:27]
    values: Row = (
        *row[1:15],
        tuple(kinds_in),
        tuple(kinds_out),
        tokens_in,
        tokens_out,
        None if usage is None else Usage(**usage),
        Blocks(base, keep, tuple(run_start), tuple(run_len)),
        None if keep_segments is None else Segments(keep_segments, tuple(roles), tuple(tokens)),
        *row[27:30],
        tuple(Attempt(**attempt) for attempt in row[30]),
    )
    return Request(*values)


def _attempt_row(attempt: Attempt) -> dict[str, Any]:
    return {
        "lead_us": attempt.lead_us,
        "duration_us": attempt.duration_us,
        "end": attempt.end,
        "status": attempt.status,
        "repeated": attempt.repeated,
    }


def _usage_row(usage: Usage | None) -> dict[str, int | None] | None:
    if usage is None:
        return None
    return {
        "input_tokens": usage.input_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }


def _call_row(session: int, call: ToolCall) -> Row:
    deliveries: Sequence[dict[str, Any]] = [{"request": d.request, "evidence": d.evidence} for d in call.deliveries]
    return (session, call.call, call.emit, call.result, call.tool, call.is_error, call.spawned, deliveries)


def _call_of(row: Row) -> ToolCall:
    values: Row = (*row[1:7], tuple(Delivery(**delivery) for delivery in row[7]))
    return ToolCall(*values)
