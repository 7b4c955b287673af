"""What a person may name as SRC, opened as sessions with their edges.

A corpus brings its own edges, which are authoritative; a WEKA trace has none, so they are inferred here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from corpus.card import Card
from corpus.errors import InputError
from corpus.formats.weka import is_weka, read_weka
from corpus.session import Session
from corpus.tables import is_corpus, read_card, read_corpus
from dagbuild.link import link_session


def read_source(name: str) -> Iterator[Session]:
    """Sessions of a corpus directory, or of a WEKA file or directory; InputError when it is none of them."""
    path = Path(name)
    if is_corpus(path):
        yield from read_corpus(path)
    elif path.is_file() or is_weka(path):  # a file that is none is explained best by the reader
        for session in read_weka(path):
            yield link_session(session)
    else:
        raise _unknown(path)


def source_card(name: str) -> Card | None:
    """The card of a corpus; None for a trace in another format."""
    path = Path(name)
    return read_card(path) if is_corpus(path) else None


def find_session(name: str, wanted: str) -> Session:
    """One session by its label or by its number (from 1)."""
    for session in read_source(name):
        if wanted in (session.label, str(session.session + 1)):
            return session
    raise InputError(name, f"has no session {wanted!r}", "`agentreel show` without a session lists them")


def _unknown(path: Path) -> InputError:
    if not path.exists():
        return InputError(path, "no such file or directory")
    return InputError(
        path,
        "is neither a corpus directory nor a WEKA trace (.json, .jsonl, or a directory of them)",
        "build a corpus from captures with `agentreel build`",
    )
