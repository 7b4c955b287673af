from __future__ import annotations

import click

from agentreel.console import json_option, print_json, table_console
from agentreel.source import read_source
from report.stats import collect_stats, render_stats


@click.command()
@click.argument("src")
@json_option
def stats(src: str, as_json: bool) -> None:
    """Print the shape of SRC: sessions, agents, lengths, gaps, prefix reuse, anomalies."""
    numbers = collect_stats(read_source(src))
    if as_json:
        print_json(numbers)
    else:
        table_console().print(render_stats(numbers))
