"""The audit tests that need a corpus folder alone, in one pass over it: T1, T7, T8, T11, T12, and T10 on demand.

They are quick, so `build` runs them before a corpus takes its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from anonymize.audit.canonical import SharedBlocks, find_odd_block
from anonymize.audit.clock import find_odd_time
from anonymize.audit.files import find_metadata
from anonymize.audit.finding import Finding
from anonymize.audit.strings import find_shapes, find_unlisted
from anonymize.audit.uniqueness import Uniqueness
from anonymize.policy import LeakError
from corpus.card import Card
from corpus.errors import InputError
from corpus.session import Session
from corpus.tables import read_card, read_corpus


def audit_folder(folder: Path, uniqueness: Uniqueness | None = None) -> list[Finding]:
    """One finding each; `uniqueness` takes the sessions in on the way."""
    card = read_card(folder)
    flaws: dict[str, list[str]] = {name: [] for name in ("T1", "T7", "T8", "T11", "T12")}
    _note(flaws, _card_flaws(card))
    sessions, shared = 0, SharedBlocks()
    for session in read_corpus(folder):
        sessions += 1
        _note(flaws, ((test, f"session {session.session}: {flaw}") for test, flaw in _session_flaws(session, card)))
        shared.add(session)
        if uniqueness is not None:
            uniqueness.add(session)
    flaws["T1"] += shared.flaws(public=card.policy == "public")
    flaws["T12"] += find_metadata(folder)
    clean = f"{sessions} sessions, policy of the {card.policy}"
    return [Finding(test, not found, summary(found) if found else clean) for test, found in flaws.items()]


def summary(flaws: list[str]) -> str:
    return flaws[0] + (f", and {len(flaws) - 1} more" if len(flaws) > 1 else "")


def refuse_unless_passed(folder: Path) -> None:
    """InputError when a corpus fails one of these tests: nothing that may tell something is ever finished."""
    failed = [finding for finding in audit_folder(folder) if not finding.ok]
    if failed:
        raise InputError(
            folder, f"audit {failed[0].id} failed: {failed[0].name}: {failed[0].detail}", "this is a bug of agentreel"
        )


def _note(flaws: dict[str, list[str]], found: Iterable[tuple[str, str]]) -> None:
    for test, flaw in found:
        flaws[test].append(flaw)


def _card_flaws(card: Card) -> Iterator[tuple[str, str]]:
    unlisted = find_unlisted(card, public=card.policy == "public")
    if unlisted:
        yield "T7", f"card: {unlisted}"
    yield from (("T8", f"card: {shape}") for shape in find_shapes(card))


def _session_flaws(session: Session, card: Card) -> Iterator[tuple[str, str]]:
    public = card.policy == "public"
    block, time = find_odd_block(session), find_odd_time(session, public=public)
    unlisted = find_unlisted(session, public=public)
    yield from ((test, flaw) for test, flaw in (("T1", block), ("T7", unlisted), ("T11", time)) if flaw)
    try:
        yield from (("T8", shape) for shape in find_shapes(session))
    except LeakError as error:
        yield "T8", str(error)
