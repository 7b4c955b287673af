from __future__ import annotations

from pathlib import Path

import click

from agentreel import __version__
from agentreel.console import force_option, note
from agentreel.source import read_source, source_card
from corpus.card import Card
from corpus.formats.weka import write_weka
from corpus.tables import write_corpus


@click.command()
@click.argument("src")
@click.argument("dst", type=click.Path(path_type=Path))
@click.option("--to", "target", type=click.Choice(["corpus", "weka"]), required=True, help="The format of DST.")
@force_option
def convert(src: str, dst: Path, target: str, force: bool) -> None:
    """Convert SRC (a corpus or a WEKA trace) to DST; what the target format can carry is carried without loss."""
    sessions = read_source(src)
    if target == "weka":
        written = write_weka(dst, sessions, force=force)
        if written.left_out_requests:
            failed, empty = written.left_out_requests, written.left_out_sessions
            note(f"left out: {failed} requests that failed or generated nothing, {empty} sessions of only such")
    else:
        write_corpus(dst, sessions, source_card(src) or Card(f"agentreel {__version__}"), force=force)
    note(f"wrote {dst}")
