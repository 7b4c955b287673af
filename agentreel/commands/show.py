from __future__ import annotations

import click

from agentreel.console import table_console
from agentreel.source import find_session, read_source
from dagbuild.causes import gap_causes
from report.show import render_session, render_sessions


@click.command()
@click.argument("src")
@click.argument("session", required=False)
def show(src: str, session: str | None) -> None:
    """Draw the sessions of SRC as a table, or one SESSION (label or number) as a tree with a text Gantt."""
    console = table_console()
    if session is None:
        console.print(render_sessions(read_source(src)))
    else:
        found = find_session(src, session)
        console.print(render_session(found, gap_causes(found)))
