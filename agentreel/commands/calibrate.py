from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agentreel import __version__
from agentreel.console import counted, force_option, json_option, note, note_damage, print_json, table_console
from agentreel.places import InputPlace

if TYPE_CHECKING:
    from anonymize.assessment import Assessment
    from anonymize.observing import Observed
    from anonymize.reuse import Reuse
    from corpus.capture.reader import Captures
    from corpus.tokenizer import Tokenizer


type Family = tuple[str | None, ...]


@click.command()
@click.argument("captures", type=InputPlace())
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the calibration here, for `build`.")
@click.option("--tokenizer", metavar="NAME_OR_FILE", help="Tokenizer that counts. [default: deepseek-v4]")
@force_option
@json_option
def calibrate(captures: Path, output: Path | None, tokenizer: str | None, force: bool, as_json: bool) -> int:
    """Compare local token counts with the provider's in CAPTURES, and fit the one to the other.

    Prints per model how far off prompts are: raw, scaled by one factor, fitted (these on sessions held out), and pinned
    (which has seen the counts); and what prompts repeat, against what the provider read from its cache. `agentreel
    build --calibration FILE` builds with lengths as the provider counts.
    """
    import orjson

    from agentreel.families import session_families
    from anonymize.assessment import assess
    from anonymize.calibration_file import calibration_json, report_json
    from anonymize.fitting import fit_calibration, usable
    from anonymize.reuse import assess_reuse
    from corpus.capture.reader import open_captures
    from corpus.errors import InputError
    from corpus.output import refuse_existing, written_aside
    from corpus.tokenizer import DEFAULT_TOKENIZER, load_tokenizer

    if output is not None:
        refuse_existing(output, force=force, replaceable=lambda _: False)
    store, loaded = open_captures(captures), load_tokenizer(tokenizer or DEFAULT_TOKENIZER)
    families = session_families(store)  # forks repeat their origin: one must not be held out while the other is seen
    sessions = list(counted("reading", _observed(store, families, loaded), len(families)))
    if not any(map(usable, sessions)):
        raise InputError(captures, "holds no prompt of 1,000 tokens or more that the provider counted")
    calibration = fit_calibration(sessions, loaded.name, loaded.sha256)
    assessments = assess(sessions)
    reuse = assess_reuse(sessions)
    report = report_json(assessments, reuse)
    uncounted = sum(session.uncounted for session in sessions)
    if output is not None:
        with written_aside(output, force=force, replaceable=lambda _: False) as aside:
            made = calibration_json(calibration, report, f"agentreel {__version__}")
            aside.write_bytes(orjson.dumps(made, option=orjson.OPT_INDENT_2))
    if as_json:
        print_json({"tokenizer": loaded.name, "sessions": len(sessions), "uncounted": uncounted, "models": report})
    else:
        _print(assessments)
        _print_reuse(reuse)
        note(f"{uncounted} requests without a usable count")
    return 3 if note_damage(store) else 0


def _observed(store: Captures, families: Iterable[Family], tokenizer: Tokenizer) -> Iterator[Observed]:
    from agentreel.families import family_exchanges
    from anonymize.observing import observe

    for family in families:
        heads = family_exchanges(store, family, bodies=False)
        yield observe(family_exchanges(store, family), heads, tokenizer)


def _print(assessments: dict[str, Assessment]) -> None:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in (
        "model",
        "requests",
        "sessions",
        "stage",
        "p1",
        "p5",
        "p50",
        "p95",
        "p99",
        "1 %",
        "2 %",
        "5 %",
        "10 %",
    ):
        table.add_column(column, justify="left" if column in ("model", "stage") else "right", no_wrap=True)
    for model, one in assessments.items():
        head = (model, str(one.requests), str(one.sessions))
        if not one.stages:
            table.add_row(*head, "nothing to hold out")
        for stage, ratios in one.stages.items():
            numbers = [f"{ratio:.3f}" for ratio in ratios.percentiles.values()]
            shares = [f"{100 * share:.1f}" for share in ratios.within.values()]
            table.add_row(*head, stage, *numbers, *shares)
            head = ("", "", "")
    table_console().print(table)
    note("ratios of reconstructed to counted tokens, and the share of requests (%) within 1, 2, 5, 10 % of the count")


def _print_reuse(reuse: Mapping[str, Reuse]) -> None:
    from rich.table import Table

    if not reuse:
        note("no request says what the provider read from its cache")
        return
    table = Table(box=None, header_style="bold", pad_edge=False, title="prefix reuse", title_justify="left")
    for column in ("model", "requests", "read none", "repeated", "read", "p1", "p5", "p50", "p95", "p99"):
        table.add_column(column, justify="left" if column == "model" else "right", no_wrap=True)
    for model, one in reuse.items():
        ratios = one.ratios.percentiles.values() if one.ratios else ()
        row = (one.requests, one.unread, one.predicted_tokens, one.read_tokens, *(f"{ratio:.3f}" for ratio in ratios))
        table.add_row(model, *map(str, row))
    table_console().print(table)
    note("tokens that prompts repeat of earlier ones, and the ratio to what was read from the cache where anything was")
