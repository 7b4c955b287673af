"""What a person may name as SRC, opened as sessions with their edges.

A corpus brings its own edges, which are authoritative, and so do formats whose rows say what they wait for; a WEKA
trace has none, so they are inferred here. A format is told by a file's first bytes, or named: `mooncake-delta:FILE`.
Only the modules of formats that are asked for are imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Final, Literal

from agentreel.places import local_input
from corpus.card import Card, is_corpus, read_card
from corpus.errors import InputError
from corpus.formats.files import kind_of, read_head, read_value, read_values
from corpus.session import Session

Format = Literal["corpus", "weka", "bailian", "dag_jsonl", "mooncake"]

# Who recognises a format and who reads it, as module:function, in the order in which they are asked.
FORMATS: Final[dict[Format, tuple[str, str]]] = {
    "corpus": ("corpus.card:is_corpus", "corpus.tables:read_corpus"),
    "weka": ("corpus.formats.weka:is_weka", "corpus.formats.weka:read_weka"),
    "bailian": ("corpus.formats.bailian:is_bailian", "corpus.formats.bailian:read_bailian"),
    "dag_jsonl": ("corpus.formats.dag_jsonl:is_dag_jsonl", "corpus.formats.dag_jsonl:read_dag_jsonl"),
    "mooncake": ("corpus.formats.mooncake:is_mooncake", "corpus.formats.mooncake:read_mooncake"),
}
# What may be named in front of a path: formats, and dialects of some.
DIALECTS: Final[dict[Format, tuple[str, ...]]] = {
    "weka": ("kv-cache-tester", "semianalysis", "aiperf"),
    "mooncake": ("plain", "sessions", "delta", "agentic"),
}
NAMED: Final[dict[str, tuple[Format, str | None]]] = {
    **{name: (name, None) for name in FORMATS},
    **{f"{name}-{dialect}": (name, dialect) for name, dialects in DIALECTS.items() for dialect in dialects},
}


def read_source(name: str) -> Iterator[Session]:
    """Sessions of SRC in order; InputError, at the first session taken, when it is in no known format or broken."""
    path, named = _named(name)
    found, dialect = named or (_detected(path), None)
    if found is None:
        raise _unknown(path)
    read: Callable[..., Iterator[Session]] = resolve_name(FORMATS[found][1])
    sessions = read(path) if dialect is None else read(path, dialect)
    yield from sessions if found != "weka" else _linked(sessions)


def _linked(sessions: Iterator[Session]) -> Iterator[Session]:
    from dagbuild.link import link_session

    return map(link_session, sessions)


def _detected(path: Path) -> Format | None:
    return next((name for name, (recognises, _) in FORMATS.items() if resolve_name(recognises)(path)), None)


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


def _named(name: str) -> tuple[Path, tuple[Format, str | None] | None]:
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
