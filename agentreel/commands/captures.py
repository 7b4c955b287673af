from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from agentreel import __version__
from agentreel.console import force_option, json_option, note_damage, print_json, progress_of, table_console
from agentreel.places import InputPlace
from corpus.capture.export import HAR_HEAD, HAR_TAIL, body_fields, har_entry
from corpus.capture.key_shapes import without_keys
from corpus.capture.meta import dump_json
from corpus.capture.prune import prune_captures
from corpus.capture.reader import EVERY_SESSION, Captures, open_captures, verify_captures
from corpus.capture.scan import RequestNote
from corpus.capture.sync import sync_from, sync_to
from corpus.errors import InputError
from corpus.exchange import Exchange
from corpus.output import written_aside
from corpus.place import open_place

_UNKNOWN_USAGE: dict[str, int | None] = dict.fromkeys(
    ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
)


@click.group()
def captures() -> None:
    """Look into recorded captures."""


@captures.command()
@click.argument("path", metavar="CAPTURES", type=InputPlace())
@json_option
def ls(path: Path, as_json: bool) -> int:
    """List the exchanges of CAPTURES by request start; with --json one object a line."""
    store = open_captures(path, keep_index=True)
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
    exchange = open_captures(path, keep_index=True).exchange(exchange_id)
    record = exchange.request if part == "request" else exchange.response
    if record is None:
        raise InputError(exchange_id, "has no response", "the recorder was stopped before it came")
    sys.stdout.buffer.write(record.body)
    sys.stdout.buffer.flush()


@captures.command()
@click.argument("path", metavar="CAPTURES", type=click.Path(path_type=Path))
@json_option
def verify(path: Path, as_json: bool) -> int:
    """Check every checksum of CAPTURES, and make the index anew. Exits with 3 where something is damaged."""
    store = verify_captures(path)
    found = _found(store)
    if as_json:
        print_json(found)
    else:
        print(f"{path}: {found['exchanges']} exchanges of {found['sessions']} sessions, every checksum read")
        print(
            f"  {found['unknown']} without an ending (the recorder was killed)" if found["unknown"] else "  all ended"
        )
        for gap in store.gaps:
            print(f"  gap: {gap.count} {gap.cause}, {_moment(gap.t_start_us)} to {_moment(gap.t_end_us)}")
    return 3 if note_damage(store) else 0


@captures.command()
@click.argument("path", metavar="CAPTURES", type=click.Path(path_type=Path))
@click.option("--older-than", "age", metavar="AGE", help="Sessions last heard longer ago, such as 30d, 12h or 90m.")
@click.option("--session", "sessions", multiple=True, metavar="ID", help="A session as `captures ls --json` names it.")
@click.option("--contributor", "contributors", multiple=True, metavar="NAME", help="All that came with a token's name.")
@click.option("--dry-run", is_flag=True, help="Only count.")
@json_option
def prune(
    path: Path, age: str | None, sessions: Sequence[str], contributors: Sequence[str], dry_run: bool, as_json: bool
) -> None:
    """Delete exchanges from CAPTURES by age, session or contributor; several options add up. There is no way back."""
    if age is None and not sessions and not contributors:
        raise click.UsageError("say what to delete: --older-than, --session or --contributor")
    before_us = None if age is None else time.time_ns() // 1000 - _age_us(age)

    def choose(notes: Sequence[RequestNote]) -> Iterable[str]:
        last_us: dict[str | None, int] = {}
        for heard in notes:
            last_us[heard.session_id] = max(heard.t_request_us, last_us.get(heard.session_id, 0))
        for heard in notes:
            heard_us = heard.t_request_us if heard.session_id is None else last_us[heard.session_id]
            is_old = before_us is not None and heard_us < before_us
            if is_old or heard.session_id in sessions or heard.contributor in contributors:
                yield heard.exchange_id

    done = prune_captures(path, choose, dry=dry_run)
    if as_json:
        print_json(asdict(done) | {"dry_run": dry_run})
    else:
        verb = "would be deleted" if dry_run else f"deleted, {done.bytes_freed} bytes freed"
        print(f"{path}: {done.exchanges} exchanges {verb}")


@captures.command()
@click.argument("source")
@click.argument("target")
@json_option
def sync(source: str, target: str, as_json: bool) -> None:
    """Copy captures into one place on object storage, from as many recorders as there are, or back from it.

    One of SOURCE and TARGET is a local capture directory, the other a URL (s3://, gs://, file://). A recorder may go on
    working: finished frames are copied, the rest the next time. Run again, it copies what is new. Nothing is deleted.
    """
    if ("://" in source) == ("://" in target):
        raise click.UsageError("one of the two is a local folder, the other a URL")
    if "://" in target:
        with progress_of("copying") as watch:
            done = sync_to(Path(source), open_place(target), watch)
    else:
        done = sync_from(open_place(source), Path(target))
    if as_json:
        print_json(asdict(done))
        return
    print(f"{target}: {done.copied} of {done.files} files copied, {done.copied_bytes} bytes")
    if done.waiting_bytes:
        print(f"  {done.waiting_bytes} bytes are in frames that a recorder has not finished")


@captures.command()
@click.argument("path", metavar="CAPTURES", type=click.Path(path_type=Path))
@click.option("--har", "form", flag_value="har", required=True, help="HTTP Archive 1.2, for browsers and HAR viewers.")
@click.option("--jsonl", "form", flag_value="jsonl", help="One object a line: as `ls --json`, with heads and bodies.")
@click.option("--session", "session_id", metavar="ID", help="Only this session.")
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help="File to write; without, stdout.")
@force_option
def export(path: Path, form: str, session_id: str | None, out: Path | None, force: bool) -> int:
    """Write exchanges of CAPTURES for other programs. As private as the captures: bodies are in it, without keys."""
    store = open_captures(path, keep_index=True)
    left_out: list[int] = []
    lines = _har(store, session_id, left_out) if form == "har" else _jsonl(store, session_id, left_out)
    if out is None:
        sys.stdout.buffer.writelines(lines)
        sys.stdout.buffer.flush()
    else:
        with written_aside(out, force=force, replaceable=lambda _path: False) as aside:
            aside.touch(0o600)
            with aside.open("wb") as file:
                file.writelines(lines)
    if keys := sum(left_out):
        print(f"{keys} strings that look like keys were left out", file=sys.stderr)
    return 3 if note_damage(store) else 0


def _har(store: Captures, session_id: str | None, left_out: list[int]) -> Iterator[bytes]:
    yield (HAR_HEAD % __version__).encode()
    for number, exchange in enumerate(store.exchanges(_session(session_id))):
        yield (b",\n" if number else b"\n") + _line(har_entry(exchange), left_out)
    yield b"\n" + HAR_TAIL.encode() + b"\n"


def _jsonl(store: Captures, session_id: str | None, left_out: list[int]) -> Iterator[bytes]:
    for exchange in store.exchanges(_session(session_id)):
        request, response = exchange.request, exchange.response
        row = exchange_row(exchange) | {"contributor": request.contributor, "mode": request.mode}
        row |= {"request_headers": request.headers, "response_headers": response.headers if response else None}
        row |= body_fields("request_body", request.body, request.headers)
        row |= body_fields("response_body", response.body, response.headers) if response else {}
        yield _line(row, left_out) + b"\n"


def _line(row: dict[str, Any], left_out: list[int]) -> bytes:
    """`left_out` gets the number of keys that were in it."""
    clean, keys = without_keys(row)
    left_out.append(keys)
    return dump_json(clean)


def _session(session_id: str | None) -> Any:
    return EVERY_SESSION if session_id is None else session_id


def _found(store: Captures) -> dict[str, Any]:
    exchanges = list(store.exchanges(bodies=False))
    return {
        "ok": not store.damage,
        "exchanges": len(exchanges),
        "unknown": sum(exchange.response is None for exchange in exchanges),
        "sessions": len(store.session_ids()),
        "gaps": [asdict(gap) for gap in store.gaps],
        "damage": [asdict(damage) for damage in store.damage],
    }


def _age_us(age: str) -> int:
    found = re.fullmatch(r"(\d+)([dhm])", age)
    if found is None:
        raise InputError("--older-than", f"{age!r} is no age", "write such as 30d, 12h or 90m")
    return int(found[1]) * {"d": 86400, "h": 3600, "m": 60}[found[2]] * 1_000_000


def _moment(t_us: int) -> str:
    return datetime.fromtimestamp(t_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


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
        "previous": request.previous,
        "session_guessed": who.session_guessed,
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
