"""What a person may name as SRC, opened as sessions with their edges.

A corpus brings its own edges, which are authoritative, and so do formats whose rows say what they wait for; a WEKA
trace has none, so they are inferred here. A format is told by a file's first bytes, or named: `mooncake-delta:FILE`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from agentreel.places import local_input
from corpus.card import Card
from corpus.errors import InputError
from corpus.formats.bailian import is_bailian, read_bailian
from corpus.formats.dag_jsonl import is_dag_jsonl, read_dag_jsonl
from corpus.formats.files import kind_of, read_head, read_value, read_values
from corpus.formats.mooncake import is_mooncake, read_mooncake
from corpus.formats.weka import is_weka, read_weka
from corpus.session import Session, WekaDialect
from corpus.tables import is_corpus, read_card, read_corpus
from dagbuild.link import link_session

Reader = Callable[[Path], Iterator[Session]]


def _linked_weka(path: Path, dialect: WekaDialect | None = None) -> Iterator[Session]:
    return map(link_session, read_weka(path, dialect))


# Who is asked first, and how what it recognises is read.
DETECTED: Final[tuple[tuple[Callable[[Path], bool], Reader], ...]] = (
    (is_corpus, read_corpus),
    (is_weka, _linked_weka),
    (is_bailian, read_bailian),
    (is_dag_jsonl, read_dag_jsonl),
    (is_mooncake, read_mooncake),
)
# Formats and dialects that may be named in front of a path.
NAMED: Final[dict[str, Reader]] = {
    "corpus": read_corpus,
    "weka": _linked_weka,
    "weka-kv-cache-tester": partial(_linked_weka, dialect="kv-cache-tester"),
    "weka-semianalysis": partial(_linked_weka, dialect="semianalysis"),
    "weka-aiperf": partial(_linked_weka, dialect="aiperf"),
    "mooncake": read_mooncake,
    "mooncake-plain": partial(read_mooncake, dialect="plain"),
    "mooncake-sessions": partial(read_mooncake, dialect="sessions"),
    "mooncake-delta": partial(read_mooncake, dialect="delta"),
    "mooncake-agentic": partial(read_mooncake, dialect="agentic"),
    "bailian": read_bailian,
    "dag_jsonl": read_dag_jsonl,
}


def read_source(name: str) -> Iterator[Session]:
    """Sessions of SRC in order; InputError, at the first session taken, when it is in no known format or broken."""
    path, reader = _named(name)
    if reader is None:
        reader = next((read for recognises, read in DETECTED if recognises(path)), None)
    if reader is None:
        raise _unknown(path)
    yield from reader(path)


def source_card(name: str) -> Card | None:
    """The card of a corpus; None for a trace in another format."""
    path, _ = _named(name)
    return read_card(path) if is_corpus(path) else None


def find_session(name: str, wanted: str) -> Session:
    """One session by its label or by its number (from 1)."""
    for session in read_source(name):
        if wanted in (session.label, str(session.session + 1)):
            return session
    raise InputError(name, f"has no session {wanted!r}", "`agentreel show` without a session lists them")


def _named(name: str) -> tuple[Path, Reader | None]:
    prefix, _, rest = name.partition(":")
    if prefix in NAMED and rest and not Path(name).exists():
        return local_input(rest), NAMED[prefix]
    return local_input(name), None


def _unknown(path: Path) -> InputError:
    if not path.exists():
        return InputError(path, "no such file or directory")
    if path.is_dir():
        problem = "is neither a corpus directory nor a folder of WEKA traces"
        return InputError(path, problem, "build a corpus from captures with `agentreel build`")
    hint = "agentreel reads a corpus, WEKA, Mooncake, Bailian and dag_jsonl; name one as in `weka:FILE` to hear more"
    head = read_head(path).lstrip()
    if not head.startswith((b"{", b"[")):
        return InputError(path, "is in no known trace format" if head else "is empty or cannot be read", hint)
    try:
        found = read_value(path) if kind_of(path) == ".json" else next(read_values(path), ("", None))[1]
    except InputError as error:
        return error
    keys = f" (keys: {', '.join(list(found)[:6])})" if isinstance(found, dict) and found else ""
    return InputError(path, f"is in no known trace format{keys}", hint)
