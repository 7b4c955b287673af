from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.table import Table

from agentreel.console import json_option, note_damage, print_json, table_console
from corpus.capture.reader import open_captures
from corpus.errors import InputError
from corpus.exchange import Exchange

_UNKNOWN_USAGE: dict[str, int | None] = dict.fromkeys(
    ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
)


@click.group()
def captures() -> None:
    """Look into recorded captures."""


@captures.command()
@click.argument("path", metavar="CAPTURES", type=click.Path(path_type=Path))
@json_option
def ls(path: Path, as_json: bool) -> int:
    """List the exchanges of CAPTURES by request start; with --json one object a line."""
    store = open_captures(path)
    rows = (exchange_row(exchange) for exchange in store.exchanges(bodies=False))
    if as_json:
        for row in rows:
            print_json(row)
    else:
        table_console().print(_table(rows))
    return 3 if note_damage(store) else 0


@captures.command()
@click.argument("path", metavar="CAPTURES", type=click.Path(path_type=Path))
@click.argument("exchange_id")
@click.option("--request", "part", flag_value="request", required=True, help="The request body.")
@click.option("--response", "part", flag_value="response", help="The response body.")
def body(path: Path, exchange_id: str, part: str) -> None:
    """Write one body to stdout, byte for byte as it was on the wire."""
    exchange = open_captures(path).exchange(exchange_id)
    record = exchange.request if part == "request" else exchange.response
    if record is None:
        raise InputError(exchange_id, "has no response", "the recorder was stopped before it came")
    sys.stdout.buffer.write(record.body)
    sys.stdout.buffer.flush()


def exchange_row(exchange: Exchange) -> dict[str, object]:
    """What `captures ls --json` says about one exchange; unknown is null."""
    request, response, who = exchange.request, exchange.response, exchange.request.identity
    usage = response.usage if response else None
    return {
        "exchange_id": request.exchange_id,
        "session_id": who.session_id,
        "agent_id": who.agent_id,
        "parent_agent_id": who.parent_agent_id,
        "agent_kind": who.agent_kind,
        "api": request.api,
        "method": request.method,
        "path": request.path,
        "model": who.model,
        "stream": who.stream,
        "status": response.status if response else None,
        "end": exchange.end,
        "t_request_us": request.t_request_us,
        "t_headers_us": response.t_headers_us if response else None,
        "t_first_byte_us": response.t_first_byte_us if response else None,
        "t_end_us": response.t_end_us if response else None,
        "request_bytes": request.body_bytes,
        "response_bytes": response.body_bytes if response else None,
        "usage": asdict(usage) if usage else dict(_UNKNOWN_USAGE),
        "retry_of": request.retry_of,
        "purpose": who.purpose,
    }


def _table(rows: Iterator[dict[str, object]]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("exchange", "time (UTC)", "session", "agent", "purpose", "status", "end", "bytes in", "out"):
        table.add_column(column, justify="right" if column in ("bytes in", "out", "status") else "left", no_wrap=True)
    for row in rows:
        moment = datetime.fromtimestamp(int(str(row["t_request_us"])) / 1e6, UTC)
        table.add_row(
            str(row["exchange_id"]),
            moment.strftime("%H:%M:%S.%f")[:-3],
            str(row["session_id"] or "-")[:8],
            str(row["agent_id"] or "main")[-8:],
            str(row["purpose"]),
            str(row["status"] or "-"),
            str(row["end"]),
            str(row["request_bytes"]),
            str(row["response_bytes"] if row["response_bytes"] is not None else "-"),
        )
    return table
