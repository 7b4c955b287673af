from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import click

from agentreel.console import force_option, note, note_damage
from agentreel.places import InputPlace
from agentreel.source import read_source, source_card
from anonymize.calibration_file import read_calibration_report
from corpus.capture.reader import is_captures, open_captures
from corpus.card import Card
from corpus.errors import InputError
from corpus.output import refuse_existing, written_aside
from corpus.run import Run, is_run, read_run
from corpus.server_metrics import read_server_metrics
from corpus.sweep import is_sweep, sweep_points
from report.aiperf import aiperf_lines
from report.page import CalibrationInput, CapturesInput, PageInput, RunInput, SessionsInput, render_page
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
@click.option(
    "--aiperf",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a run's requests as aiperf's profile_export.jsonl instead, for tools that read those.",
)
@force_option
def report(paths: tuple[Path, ...], out: Path | None, perfetto: Path | None, aiperf: Path | None, force: bool) -> None:
    """Write one HTML page, for any browser without network: captures, corpora, traces, runs, sweeps, calibrations."""
    if sum(file is not None for file in (out, perfetto, aiperf)) != 1:
        raise click.UsageError("give one of -o FILE.html, --perfetto FILE and --aiperf FILE")
    if out is not None:
        _write(out, lambda: render_page([shown for path in paths for shown in _inputs(path)]).encode(), force=force)
    elif perfetto is not None:
        _write(perfetto, lambda: perfetto_trace(_only_run("--perfetto", paths)), force=force)
    elif aiperf is not None:
        _write(aiperf, lambda: b"".join(aiperf_lines(_only_run("--aiperf", paths))), force=force)


def _only_run(option: str, paths: tuple[Path, ...]) -> Run:
    if len(paths) != 1:
        raise click.UsageError(f"{option} takes one run")
    return read_run(paths[0])


def _write(file: Path, content: Callable[[], bytes], *, force: bool) -> None:
    refuse_existing(file, force=force, replaceable=lambda _: False)
    written = content()
    with written_aside(file, force=force, replaceable=lambda _: False) as aside:
        aside.write_bytes(written)
    note(f"wrote {file}")


def _inputs(path: Path) -> list[PageInput]:
    """What a path stands for on the page; a sweep for all its runs."""
    if not is_sweep(path):
        return [_input(path)]
    points = sweep_points(path)
    if not points:
        raise InputError(path, "no point of this sweep has been run", "give the `agentreel sweep` command again")
    return [
        RunInput(f"{p.group}, {p.concurrency} sessions", read_run(p.path), samples=read_server_metrics(p.path))
        for p in points
    ]


def _input(path: Path) -> PageInput:
    title = path.name or str(path.resolve().name)
    if is_run(path):
        return RunInput(title, read_run(path), samples=read_server_metrics(path))
    if is_captures(path):
        store = open_captures(path)
        exchanges = tuple(store.exchanges(bodies=False))
        note_damage(store)
        return CapturesInput(title, exchanges)
    if found := read_calibration_report(path):
        return CalibrationInput(title, *found)
    card = source_card(str(path))
    return SessionsInput(title, tuple(read_source(str(path))), {} if card is None else _facts(card))


def _facts(card: Card) -> dict[str, str]:
    """All that the card says, but for what stands on the page anyway; nested numbers as words."""
    given = {name: value for name, value in asdict(card).items() if name not in ("version", "counts") and value}
    return {
        name.replace("_", " "): "; ".join(f"{k}: {v}" for k, v in value.items())
        if isinstance(value, dict)
        else str(value)
        for name, value in given.items()
    }
