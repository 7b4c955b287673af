from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agentreel import __version__
from agentreel.console import counted, force_option, json_option, note, print_json
from agentreel.places import InputPlace, local_output

if TYPE_CHECKING:
    from agentreel.building import BuildReport, Done
    from agentreel.workers import Outcome
    from corpus.card import Card

_MAX_INPUT_TOKENS = 990_000  # above that, local counts of the published corpora proved to be overcounts


@click.command()
@click.argument("captures", type=InputPlace())
@click.argument("corpus")
@click.option("--tokenizer", metavar="NAME_OR_FILE", help="Tokenizer that counts. [default: deepseek-v4]")
@click.option("--block-size", type=click.IntRange(1, 4096), default=64, show_default=True, help="Tokens per block.")
@click.option("--keep-aux", is_flag=True, help="Keep titles, side questions, monitors and failed attempts as requests.")
@click.option(
    "--max-input-tokens",
    type=click.IntRange(1),
    default=_MAX_INPUT_TOKENS,
    show_default=True,
    help="Leave longer prompts out.",
)
@click.option(
    "--workers",
    type=click.IntRange(0, 1024),
    help="Worker processes; 0: none, all in this one. [default: one per core, as far as there is work]",
)
@click.option("--dask", metavar="ADDRESS", help="Work on a Dask cluster: the address of its scheduler (docs/scale.md).")
@click.option(
    "--calibration",
    type=click.Path(path_type=Path),
    help="Lengths as the provider counts them, by a file that `calibrate` made. [default: as the tokenizer counts]",
)
@force_option
@json_option
def build(
    captures: Path,
    corpus: str,
    tokenizer: str | None,
    block_size: int,
    keep_aux: bool,
    max_input_tokens: int,
    workers: int | None,
    dask: str | None,
    calibration: Path | None,
    force: bool,
    as_json: bool,
) -> int:
    """Turn CAPTURES into CORPUS: integers and words from fixed lists, no prompt, code or tool output.

    Sessions are worked on one by one; what is done is kept beside CORPUS until all are, so a build that was interrupted
    goes on where it was. A session that cannot be worked on is listed and left out (exit code 3). A corpus that fails
    an audit is not written. Both may lie on object storage (s3://, gs://); with --dask every worker must see both
    folders under the same path.
    """
    from agentreel.building import BuildSettings, build_corpus
    from agentreel.cluster import DaskCluster
    from agentreel.workers import choose_runner
    from anonymize.calibration_file import read_calibration
    from corpus.capture.directory import segment_files
    from corpus.capture.reader import open_captures
    from corpus.card import CARD_NAME
    from corpus.tokenizer import DEFAULT_TOKENIZER, load_tokenizer

    if dask is not None and workers is not None:
        raise click.UsageError("--workers is for this machine, --dask for a cluster: give one of them")
    if calibration is not None:
        read_calibration(calibration, load_tokenizer(tokenizer or DEFAULT_TOKENIZER))
    store = open_captures(captures)
    captured_bytes = sum(file.stat().st_size for file in segment_files(captures))
    with local_output(corpus, CARD_NAME, force=force) as target:
        card, report = build_corpus(
            store,
            target,
            BuildSettings(tokenizer or DEFAULT_TOKENIZER, block_size, max_input_tokens, keep_aux, calibration),
            DaskCluster(dask) if dask else choose_runner(workers, len(store.session_ids()), captured_bytes),
            created_by=f"agentreel {__version__}",
            force=force,
            watch=_watched,
        )
    _say(corpus, card, report, as_json=as_json)
    return 3 if report.damage or report.poison or card.rejected.get("unparsable") else 0


def _watched(outcomes: Iterable[Outcome[Done]], total: int) -> Iterable[Outcome[Done]]:
    return counted("building", outcomes, total)


def _say(corpus: str, card: Card, report: BuildReport, *, as_json: bool) -> None:
    for file, offset, problem in report.damage:
        note(f"damaged: {file} at byte {offset}: {problem}")
    for session, failure in report.poison:
        note(f"left out: session {session}: {failure}")
    if report.resumed:
        note(f"{report.resumed} of {report.sessions} sessions were done already")
    if as_json:
        keys = ("counts", "rejected", "fingerprint", "tokenizer", "audit")
        poison = [{"session": session, "failure": failure} for session, failure in report.poison]
        said = {"corpus": corpus} | {key: getattr(card, key) for key in keys}
        print_json(said | {"poison": poison, "resumed": report.resumed})
        return
    print(f"{corpus}: " + ", ".join(f"{n} {what.replace('_', ' ')}" for what, n in card.counts.items()))
    for reason, n in sorted(card.rejected.items()):
        print(f"  left out: {n} {reason.replace('_', ' ')}")
    for test, found in card.audit.items():
        print(f"  audit {test}: {found}")
