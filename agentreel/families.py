"""Captures as families of sessions: forks and their origin are worked on as one session, everything else alone."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from anonymize.families import Opening, as_member, group_families, is_opening, read_opening
from anonymize.hearing import Hearing
from corpus.capture.reader import Captures
from corpus.exchange import Exchange

type SessionId = str | None

_HEAD: Final = 64  # exchanges of a session among which its first turn is looked for


def session_families(captures: Captures) -> list[tuple[SessionId, ...]]:
    """All sessions, by the time of their family's first record; the root of a family first.

    Reads the first requests of every session.
    """
    ids = captures.session_ids()
    openings = (_opening(captures, session_id) for session_id in ids if session_id is not None)
    families = {members[0]: members for members in group_families(one for one in openings if one is not None)}
    captures.release()
    forks = {member for members in families.values() for member in members[1:]}
    return [families.get(session_id, (session_id,)) for session_id in ids if session_id not in forks]


def family_exchanges(captures: Captures, family: Sequence[SessionId], *, bodies: bool = True) -> Iterator[Exchange]:
    """A family's exchanges by time, as those of one session."""
    streams = [captures.exchanges(session_id, bodies=bodies) for session_id in family]
    for exchange in heapq.merge(*streams, key=lambda one: (one.request.t_request_us, one.request.exchange_id)):
        yield as_member(exchange, family[0])


def _opening(captures: Captures, session_id: SessionId) -> Opening | None:
    heads = islice(captures.exchanges(session_id, bodies=False), _HEAD)
    for heard in Hearing(heads, keep_aux=False).requests(islice(captures.exchanges(session_id), _HEAD)):
        if is_opening(heard):
            return read_opening(heard)
    return None
