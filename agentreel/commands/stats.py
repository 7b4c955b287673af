from __future__ import annotations

import click

from agentreel.console import json_option, print_json, table_console
from agentreel.source import read_source
from dagbuild.timing import TimingReport
from report.stats import collect_stats, render_stats


@click.command()
@click.argument("src")
@json_option
def stats(src: str, as_json: bool) -> None:
    """Print the shape of SRC: sessions, agents, lengths, gaps, prefix reuse, anomalies."""
    timing = TimingReport()
    numbers = collect_stats(timing.watch(read_source(src)))
    alone = numbers["timing_alone"] = timing.document()
    if as_json:
        print_json(numbers)
    else:
        table_console().print(render_stats(numbers))
        if alone["spawns"] + alone["joins"]:
            print(
                f"\ntime stamps alone would have missed {alone['spawns_wrong']} of {alone['spawns']} spawns "
                f"and {alone['joins_wrong']} of {alone['joins']} joins that were heard"
            )
