"""Captures as families of sessions: forks and their origin are worked on as one session, everything else alone."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from anonymize.families import Opening, as_member, find_opening, group_families
from corpus.capture.directory import segments_by_stem, session_stem
from corpus.capture.reader import Captures, first_exchanges
from corpus.exchange import Exchange

type SessionId = str | None

_HEAD: Final = 64  # exchanges of a file among which its first turn is looked for


def session_families(captures: Captures) -> list[tuple[SessionId, ...]]:
    """All sessions, by the time of their family's first record; the root of a family first.

    Reads every session up to its first answer, no further: milliseconds each, however long it is.
    """
    ids, files = captures.session_ids(), segments_by_stem(captures.path)
    openings = (_opening(files.get(session_stem(one), ()), one) for one in ids if one is not None)
    families = {members[0]: members for members in group_families(one for one in openings if one is not None)}
    forks = {member for members in families.values() for member in members[1:]}
    return [families.get(session_id, (session_id,)) for session_id in ids if session_id not in forks]


def family_exchanges(captures: Captures, family: Sequence[SessionId], *, bodies: bool = True) -> Iterator[Exchange]:
    """A family's exchanges by time, as those of one session."""
    streams = [captures.exchanges(session_id, bodies=bodies) for session_id in family]
    for exchange in heapq.merge(*streams, key=lambda one: (one.request.t_request_us, one.request.exchange_id)):
        yield as_member(exchange, family[0])


def _opening(files: Iterable[Path], session_id: str) -> Opening | None:
    """The earliest that the session's files hold: each worker and run of the recorder has its own."""
    found = (find_opening(_begun(file, session_id)) for file in files)
    return min((one for one in found if one is not None), key=lambda one: one.t_us, default=None)


def _begun(file: Path, session_id: str) -> Iterator[Exchange]:
    begun = islice(first_exchanges(file), _HEAD)
    return (one for one in begun if one.request.identity.session_id == session_id)
