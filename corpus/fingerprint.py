"""One short name for what a corpus says, the same however it was stored.

Block and segment lists are hashed expanded, so two different deltas of one list count as equal; the number a session
happens to have does not count, the order of the sessions does (replay takes them in order). Everything else counts,
edges and the JSON of imports included: a linked corpus and the same trace before linking differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from hashlib import blake2b
from operator import attrgetter

import orjson

from corpus.blocks import expand_blocks, expand_segments
from corpus.session import Request, Session

_FORM = b"agentreel sessions 1"  # changes when the hashed form does
_DELTAS = ("blocks", "segments")
_SESSION = tuple(f.name for f in fields(Session) if f.name not in ("session", "requests"))
_REQUEST = tuple(f.name for f in fields(Request) if f.name not in _DELTAS)
_session_values = attrgetter(*_SESSION)
_request_values = attrgetter(*_REQUEST)


class Fingerprint:
    """A fingerprint that grows session by session; holds no session."""

    def __init__(self) -> None:
        self._hash = blake2b(_FORM, digest_size=16)

    def add(self, session: Session) -> None:
        self._hash.update(_digest(session))

    def hex(self) -> str:
        return self._hash.hexdigest()


def fingerprint_sessions(sessions: Iterable[Session]) -> str:
    """BLAKE2b-128 of the sessions in their order, as 32 hex digits."""
    fingerprint = Fingerprint()
    for session in sessions:
        fingerprint.add(session)
    return fingerprint.hex()


def _digest(session: Session) -> bytes:
    requests = [_request_values(request) for request in session.requests]
    segments = [
        None if request.segments is None else expanded
        for request, expanded in zip(session.requests, expand_segments(session.requests), strict=True)
    ]
    lists = expand_blocks([request.blocks for request in session.requests])
    words = orjson.dumps((_session_values(session), requests, segments, [len(ids) for ids in lists]))
    digest = blake2b(words, digest_size=32)
    for ids in lists:
        digest.update(ids.astype("<i8", copy=False).data)
    return digest.digest()
