from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from agentreel.console import force_option, note, note_damage
from agentreel.places import InputPlace
from agentreel.source import read_source, source_card
from corpus.capture.reader import is_captures, open_captures
from corpus.output import refuse_existing, written_aside
from corpus.run import is_run, read_run
from corpus.server_metrics import read_server_metrics
from report.page import CapturesInput, PageInput, RunInput, SessionsInput, render_page
from report.perfetto import perfetto_trace


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=InputPlace())
@click.option("-o", "--out", type=click.Path(path_type=Path), help="The HTML file to write.")
@click.option(
    "--perfetto",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a run as a trace for ui.perfetto.dev instead: recorded and replayed side by side, every edge an arrow.",
)
@force_option
def report(paths: tuple[Path, ...], out: Path | None, perfetto: Path | None, force: bool) -> None:
    """Write one HTML page, for any browser and without network, about captures, corpora, traces and runs."""
    if (out is None) == (perfetto is None):
        raise click.UsageError("give either -o FILE.html or --perfetto FILE")
    if perfetto is not None:
        _write_trace(paths, perfetto, force=force)
    elif out is not None:
        _write(out, lambda: render_page([_input(path) for path in paths]).encode(), force=force)


def _write_trace(paths: tuple[Path, ...], file: Path, *, force: bool) -> None:
    if len(paths) != 1:
        raise click.UsageError("--perfetto takes one run")
    _write(file, lambda: perfetto_trace(read_run(paths[0])), force=force)


def _write(file: Path, content: Callable[[], bytes], *, force: bool) -> None:
    refuse_existing(file, force=force, replaceable=lambda _: False)
    written = content()
    with written_aside(file, force=force, replaceable=lambda _: False) as aside:
        aside.write_bytes(written)
    note(f"wrote {file}")


def _input(path: Path) -> PageInput:
    title = path.name or str(path.resolve().name)
    if is_run(path):
        return RunInput(title, read_run(path), samples=read_server_metrics(path))
    if is_captures(path):
        store = open_captures(path)
        exchanges = tuple(store.exchanges(bodies=False))
        note_damage(store)
        return CapturesInput(title, exchanges)
    card = source_card(str(path))
    facts = {} if card is None else {"tokenizer": card.tokenizer or "", "fingerprint": card.fingerprint}
    return SessionsInput(title, tuple(read_source(str(path))), facts)
