from __future__ import annotations

from pathlib import Path

import click

from agentreel.console import force_option, note, note_damage
from agentreel.source import read_source, source_card
from corpus.capture.reader import is_captures, open_captures
from corpus.output import refuse_existing, written_aside
from corpus.run import is_run, read_run
from report.page import CapturesInput, PageInput, RunInput, SessionsInput, render_page


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="The HTML file to write.")
@force_option
def report(paths: tuple[Path, ...], out: Path, force: bool) -> None:
    """Write one HTML page, for any browser and without network, about captures, corpora, traces and runs."""
    refuse_existing(out, force=force, replaceable=lambda _: False)
    page = render_page([_input(path) for path in paths])
    with written_aside(out, force=force, replaceable=lambda _: False) as aside:
        aside.write_text(page)
    note(f"wrote {out}")


def _input(path: Path) -> PageInput:
    title = path.name or str(path.resolve().name)
    if is_run(path):
        return RunInput(title, read_run(path))
    if is_captures(path):
        store = open_captures(path)
        exchanges = tuple(store.exchanges(bodies=False))
        note_damage(store)
        return CapturesInput(title, exchanges)
    card = source_card(str(path))
    facts = {} if card is None else {"tokenizer": card.tokenizer or "", "fingerprint": card.fingerprint}
    return SessionsInput(title, tuple(read_source(str(path))), facts)
