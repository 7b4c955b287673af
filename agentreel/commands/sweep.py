from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from agentreel.console import json_option, note, print_json, table_console
from agentreel.following import following
from agentreel.replaying import Replay, replay_of, replay_options
from agentreel.sweeping import (
    COLUMNS,
    concurrencies_of,
    is_finished,
    point_settings,
    settings_of_group,
    short_number,
    sweep_rows,
    told,
)
from corpus.fingerprint import fingerprint_sessions
from corpus.sweep import claim_group, group_name, point_path
from replay.content_ahead import pool_ahead
from replay.content_pool import Pool
from replay.run import run_replay
from replay.server import look_at, reset_cache
from replay.settings import check_settings, named_engine


@click.command()
@click.argument("src")
@click.option("--url", required=True, help="The server's base URL, for example http://127.0.0.1:8000")
@click.option("--model", required=True, help="The model name the server knows.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Directory of the sweep.")
@click.option(
    "--concurrency", "concurrencies", required=True, metavar="N,N,...", help="Live sessions, one run for each number."
)
@replay_options
@json_option
def sweep(src: str, *, as_json: bool, out: Path, concurrencies: str, **given: Any) -> int:
    """Replay SRC once for each concurrency and print what each gave: a Pareto table.

    Give the same command again to go on where it stopped: points that are done are kept. Another --label adds a group
    to the same folder. Before each point the server's prefix cache is emptied where its engine has a way.
    """
    counts = concurrencies_of(concurrencies)
    with pool_ahead(given["tokenizer"]) as pool:
        made = _read(replay_of(src, out, counts[0], {**given, "force": False}))
        group = group_name(made.settings.labels)
        claim_group(out, group, settings_of_group(made.settings))
        whole = True
        for number, concurrency in enumerate(counts, 1):
            if is_finished(point_path(out, group, concurrency)):
                note(f"concurrency {concurrency} ({number} of {len(counts)}): done before, kept")
            else:
                note(f"concurrency {concurrency} ({number} of {len(counts)})")
                whole = _run_point(made, group, concurrency, pool)
            if not whole:
                break
    rows = sweep_rows(out)
    if as_json:
        print_json({"sweep": str(out), "points": rows})
    else:
        _print(rows)
    failed = any(row["errors"] for row in rows if row["group"] == group)
    return 3 if failed or not whole else 0


def _read(made: Replay) -> Replay:
    """Every point has the same sessions."""
    check_settings(made.settings)
    sessions = list(made.sessions)
    settings = replace(made.settings, fingerprint=fingerprint_sessions(sessions))
    return replace(made, sessions=sessions, settings=settings)


def _run_point(made: Replay, group: str, concurrency: int, pool: Callable[[], Pool]) -> bool:
    """Whether the sweep may go on."""
    settings = made.settings
    server = asyncio.run(look_at(settings.url, settings.model, settings.headers, named_engine(settings)))
    problem = asyncio.run(reset_cache(settings.url, server.engine, settings.headers))
    point = point_settings(settings, group, concurrency, cache_is_empty=not problem)
    if problem:
        note(f"  the prefix cache cannot be emptied ({problem}): seed {point.seed}, so that nothing of it is found")
    with following() as progress:
        summary = run_replay(made.sessions, point, progress, made.draw, pool)
    note("  " + told(summary))
    return not (summary["interrupted"] or summary["problem"])


def _print(rows: list[dict[str, Any]]) -> None:
    """Columns that nobody has are left out."""
    shown = {name: title for name, (title, _) in COLUMNS.items() if any(row[name] is not None for row in rows)}
    for group in dict.fromkeys(row["group"] for row in rows):
        table = Table(
            title=group, title_justify="left", box=None, header_style="bold", padding=(0, 1, 0, 0), pad_edge=False
        )
        for title in ("sessions", *shown.values(), ""):
            table.add_column(title, justify="right")
        for row in rows:
            if row["group"] == group:
                values = [short_number(row[name]) for name in shown]
                table.add_row(str(row["concurrency"]), *values, "*" if row["on_front"] else "")
        table_console().print(table)
    print("* on the Pareto front of its group")
