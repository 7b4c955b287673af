from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from agentreel import __version__
from agentreel.console import counted, force_option, json_option, note_damage, print_json
from corpus.errors import InputError
from corpus.session import Session

_MAX_INPUT_TOKENS = 990_000  # above that, local counts of the published corpora proved to be overcounts


@click.command()
@click.argument("captures", type=click.Path(path_type=Path))
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option("--tokenizer", metavar="NAME_OR_FILE", help="Tokenizer that counts. [default: deepseek-v4]")
@click.option("--block-size", type=click.IntRange(1, 4096), default=64, show_default=True, help="Tokens per block.")
@click.option("--keep-aux", is_flag=True, help="Keep titles, side questions and monitors as auxiliary requests.")
@click.option(
    "--max-input-tokens",
    type=click.IntRange(1),
    default=_MAX_INPUT_TOKENS,
    show_default=True,
    help="Leave longer prompts out.",
)
@force_option
@json_option
def build(
    captures: Path,
    corpus: Path,
    tokenizer: str | None,
    block_size: int,
    keep_aux: bool,
    max_input_tokens: int,
    force: bool,
    as_json: bool,
) -> int:
    """Turn CAPTURES into CORPUS: integers and words from fixed lists, no prompt, code or tool output."""
    from agentreel.building import BuildProgress, BuildSettings, build_sessions
    from corpus.capture.reader import open_captures
    from corpus.card import Card
    from corpus.output import refuse_existing
    from corpus.tables import is_corpus, write_corpus
    from corpus.tokenizer import DEFAULT_TOKENIZER, load_tokenizer

    refuse_existing(corpus, force=force, replaceable=is_corpus)
    store = open_captures(captures)
    loaded = load_tokenizer(tokenizer or DEFAULT_TOKENIZER)
    progress = BuildProgress()
    made = build_sessions(store, BuildSettings(loaded, block_size, max_input_tokens, keep_aux), progress)
    card = Card(f"agentreel {__version__}", loaded.name, loaded.sha256, block_size, rejected=progress.rejected)
    sessions = counted("building", _refuse_none(made, captures, progress.rejected), len(store.session_ids()))
    card = write_corpus(corpus, sessions, card, force=force)
    if as_json:
        keys = ("counts", "rejected", "fingerprint", "tokenizer")
        print_json({"corpus": str(corpus)} | {key: getattr(card, key) for key in keys})
    else:
        print(f"{corpus}: " + ", ".join(f"{n} {what.replace('_', ' ')}" for what, n in card.counts.items()))
        for reason, n in sorted(card.rejected.items()):
            print(f"  left out: {n} {reason.replace('_', ' ')}")
    damaged = note_damage(store)
    return 3 if damaged or card.rejected.get("unparsable") else 0


def _refuse_none(sessions: Iterator[Session], captures: Path, rejected: dict[str, int]) -> Iterator[Session]:
    """A corpus without a session is a mistake somewhere before; say what became of the exchanges."""
    empty = True
    for session in sessions:
        empty = False
        yield session
    if empty:
        reasons = ", ".join(f"{n} {reason}" for reason, n in sorted(rejected.items())) or "no exchange was recorded"
        raise InputError(captures, f"holds nothing to build a corpus from ({reasons})")
