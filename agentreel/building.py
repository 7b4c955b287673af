"""Captures to a corpus: anonymize and link composed, one session at a time, with counts of what was left out."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from anonymize.policy import check_record
from anonymize.session import anonymize_session
from corpus.capture.reader import Captures
from corpus.session import Session
from corpus.tokenizer import Tokenizer
from dagbuild.link import link_session

_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class BuildSettings:
    tokenizer: Tokenizer
    block_size: int
    max_input_tokens: int
    keep_aux: bool


@dataclass(slots=True)
class BuildProgress:
    """Filled while sessions are taken; complete when the last one was."""

    sessions_read: int = 0
    rejected: Counter[str] = field(default_factory=Counter)


def build_sessions(captures: Captures, settings: BuildSettings, progress: BuildProgress) -> Iterator[Session]:
    """Linked sessions of integers and words from fixed lists; a session's key lives only while that session is made."""
    numbers = count()
    number = next(numbers)
    for session_id in captures.session_ids():
        made = anonymize_session(
            tuple(captures.exchanges(session_id)),
            number=number,
            tokenizer=settings.tokenizer,
            block_size=settings.block_size,
            max_input_tokens=settings.max_input_tokens,
            keep_aux=settings.keep_aux,
            key=secrets.token_bytes(_KEY_BYTES),
        )
        progress.sessions_read += 1
        progress.rejected.update(made.rejected)
        if made.session is not None:
            session = link_session(made.session)
            check_record(session)
            yield session
            number = next(numbers)
