from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import click

from agentreel import __version__
from agentreel.console import force_option, note
from agentreel.places import local_output
from agentreel.source import read_source, source_card
from corpus.card import CARD_NAME, Card
from corpus.dropping import drop_requests, over_context
from corpus.errors import InputError
from corpus.formats.bailian import write_bailian
from corpus.formats.dag_jsonl import write_dag_jsonl
from corpus.formats.mooncake import write_mooncake
from corpus.formats.trace_rows import Written
from corpus.formats.weka import write_weka
from corpus.session import Session
from corpus.tables import write_corpus

WRITERS: Final[dict[str, Callable[..., Written]]] = {
    "weka": write_weka,
    "mooncake": partial(write_mooncake, dialect="sessions"),
    "mooncake-plain": partial(write_mooncake, dialect="plain"),
    "mooncake-delta": partial(write_mooncake, dialect="delta"),
    "mooncake-agentic": partial(write_mooncake, dialect="agentic"),
    "bailian": write_bailian,
    "dag_jsonl": write_dag_jsonl,
}


class _Shortened:
    """The sessions without requests over a context limit; counts what goes."""

    def __init__(self, sessions: Iterable[Session], max_context: int) -> None:
        self._sessions, self._max = sessions, max_context
        self.requests = self.dropped = self.emptied = 0

    def __iter__(self) -> Iterator[Session]:
        for session in self._sessions:
            gone = over_context(session, self._max)
            self.requests += len(session.requests)
            self.dropped += len(gone)
            if len(gone) == len(session.requests):
                self.emptied += 1
            else:
                yield replace(drop_requests(session, gone), session=session.session - self.emptied)
        if self.requests == self.dropped:
            raise InputError("--max-context", f"no request fits {self._max} tokens", "raise it")

    def __str__(self) -> str:
        share = 100 * self.dropped / self.requests if self.requests else 0.0
        emptied = f", and with them {self.emptied} sessions" if self.emptied else ""
        return f"dropped {self.dropped} of {self.requests} requests ({share:.1f} %) over {self._max} tokens{emptied}"


@click.command()
@click.argument("src")
@click.argument("dst")
@click.option("--to", "target", type=click.Choice(["corpus", *WRITERS]), required=True, help="The format of DST.")
@click.option(
    "--max-context",
    type=click.IntRange(1),
    metavar="N",
    help="Drop single requests whose prompt and answer together are over N tokens; all times stay.",
)
@force_option
def convert(src: str, dst: str, target: str, max_context: int | None, force: bool) -> None:
    """Convert SRC to DST; what the target format can carry is carried without loss.

    SRC is a corpus or a trace: WEKA, Mooncake, Bailian or dag_jsonl, also .gz and .zst. Its format is detected, or
    named as in mooncake-delta:FILE or weka-semianalysis:FILE. docs/formats.md says what each format loses.
    """
    sessions: Iterable[Session] = read_source(src)
    shortened = _Shortened(sessions, max_context) if max_context is not None else None
    sessions = sessions if shortened is None else shortened
    if target == "corpus":
        with local_output(dst, CARD_NAME, force=force) as place:
            write_corpus(place, sessions, source_card(src) or Card(f"agentreel {__version__}"), force=force)
    else:
        written = WRITERS[target](Path(dst), sessions, force=force)
        if written.left_out_requests:
            failed, empty = written.left_out_requests, written.left_out_sessions
            note(f"left out: {failed} requests that failed or generated nothing, {empty} sessions of only such")
    if shortened is not None:
        note(str(shortened))
    note(f"wrote {dst}")
