"""All fourteen audit tests of a corpus, held against the captures that it was built from.

Six look at the corpus alone, five were run by the build that had the keys and are reported from the card, which is
believed only if its fingerprint is that of the content. Two compare with what was captured or could be: every stretch
of an unlisted string is looked for in the captures (T6), and made-up captures with canaries go through this very code
(T5). The scanner is a program of somebody else's (T13), skipped with a word where it is not installed.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from agentreel.building import BuildSettings, make_piece, merge_pieces, session_tasks
from agentreel.pieces import work_folder
from anonymize.audit.canaries import REFUSED, canary_exchanges, search_folder
from anonymize.audit.finding import NAMES, Finding
from anonymize.audit.folder import audit_folder, summary
from anonymize.audit.live import LIVE
from anonymize.audit.scanner import find_scanner, scan
from anonymize.audit.strings import captured_windows, unlisted_windows
from anonymize.audit.uniqueness import Uniqueness, uniqueness_summary
from anonymize.policy import is_fixed, strings_of
from corpus.capture.reader import Captures, open_captures
from corpus.capture.writer import CaptureWriter
from corpus.card import Card
from corpus.exchange import Exchange
from corpus.fingerprint import fingerprint_sessions
from corpus.tables import read_card, read_corpus
from corpus.tokenizer import DEFAULT_TOKENIZER, load_tokenizer

_MAX_INPUT_TOKENS: Final = 990_000


type Watch = Callable[[Iterator[Finding], int], Iterator[Finding]]


def audit_corpus(folder: Path, captures: Captures, watch: Watch = lambda findings, _: findings) -> list[Finding]:
    """By number; `watch` sees findings as they come."""
    findings = {finding.id: finding for finding in watch(_findings(folder, captures), len(NAMES))}
    return [findings[test] for test in NAMES]


def _findings(folder: Path, captures: Captures) -> Iterator[Finding]:
    uniqueness = Uniqueness()
    yield from audit_folder(folder, uniqueness)
    yield Finding("T10", ok=True, detail=uniqueness_summary(uniqueness))
    yield from live_findings(folder)
    yield canary_finding(run_canaries)
    yield _window_finding(folder, captures)
    yield scanner_finding(folder)


def live_findings(folder: Path) -> Iterator[Finding]:
    card = read_card(folder)
    is_its_own = card.fingerprint == fingerprint_sessions(read_corpus(folder))
    for test in LIVE:
        found = card.audit.get(test, "did not run when it was built")
        detail = found if is_its_own else "the card's fingerprint is that of another corpus, its audit does not count"
        yield Finding(test, ok=is_its_own and found.startswith("passed"), detail=detail)


def canary_finding(run: Callable[[Path], list[str]]) -> Finding:
    with tempfile.TemporaryDirectory(prefix="agentreel-audit-") as scratch:
        shown = run(Path(scratch))
    return Finding(
        "T5", not shown, summary(shown) if shown else f"{len(canary_exchanges()[1])} canaries, none came out"
    )


def run_canaries(scratch: Path) -> list[str]:
    """Where canaries show after they were recorded and built with this code: in all that is left, pieces, logs."""
    exchanges, words = canary_exchanges()
    _write_captures(scratch / "captures", exchanges)
    made = scratch / "made"
    settings = BuildSettings(DEFAULT_TOKENIZER, 64, _MAX_INPUT_TOKENS, keep_aux=True)
    store = open_captures(scratch / "captures")
    with _logged(made / "log.txt"), work_folder(made / "corpus") as pieces:
        tasks = session_tasks(store, pieces, settings)
        done = {number: make_piece(task) for number, task in enumerate(tasks)}
        merge_pieces(made / "corpus", tasks, done, settings, "agentreel 0", captures=store)
        if sum(one.requests for one in done.values()) < len(exchanges) - REFUSED:
            return ["not every request was built, so not everything could show"]
        return list(search_folder(made, words, load_tokenizer(settings.tokenizer)))


def _write_captures(path: Path, exchanges: Sequence[Exchange]) -> None:
    writer = CaptureWriter(path, "canary")
    for exchange in exchanges:
        writer.write_request(exchange.request)
        if exchange.response is not None:
            writer.write_response(exchange.request.identity.session_id, exchange.response)
    writer.close()


@contextmanager
def _logged(path: Path) -> Iterator[None]:
    """Everything that is logged, down to the least, into a file."""
    path.parent.mkdir(parents=True)
    handler = logging.FileHandler(path)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        root.setLevel(level)
        root.removeHandler(handler)
        handler.close()


def _window_finding(folder: Path, captures: Captures) -> Finding:
    card = read_card(folder)
    kept = card.counts.get("requests", 0) + sum(card.rejected.values())
    heard = sum(1 for _ in captures.exchanges(bodies=False))
    if kept != heard:
        detail = f"these are not its captures: they hold {heard} exchanges, it was built from {kept}"
        return Finding("T6", ok=False, detail=detail)
    windows = unlisted_windows(_unlisted(folder, card))
    by_session = (one for session_id in captures.session_ids() for one in captures.exchanges(session_id))
    found = captured_windows(windows, by_session)  # not by time: that would open every session's large frames in turn
    detail = f"{len(windows)} stretches of unlisted strings, {found} of them captured, in {heard} exchanges"
    return Finding("T6", not found, detail)


def _unlisted(folder: Path, card: Card) -> Iterator[str]:
    for record in (card, *read_corpus(folder)):
        yield from (text for name, text in strings_of(record) if not is_fixed(name, text))


def scanner_finding(folder: Path) -> Finding:
    program = find_scanner()
    if program is None:
        return Finding("T13", ok=True, detail="skipped: kingfisher is not installed (pip install kingfisher-bin)")
    flaw = scan(folder, program)
    return Finding("T13", flaw is None, flaw or "kingfisher found nothing")
