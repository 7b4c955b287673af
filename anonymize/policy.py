"""The allow-list: one table of every field that may leave, with what the owner's and the public corpus hold of it.

`build` writes the owner's column: exact numbers, and words from fixed lists. `publish` applies the public column
(`anonymize.public`): what is quantised, capped or dropped because it would recognise a session or name its user. A
field that the table does not know stops the export, fields added later included; so does a value that its treatment
does not allow. Nothing in either column depends on a key. What may show only if enough people have it, and what shows
as shared between them, is for `anonymize.crowd` and `anonymize.sharing`; the notes say where.

| treatment | the value that leaves |
|---|---|
| kept | the number or flag as it is; records are kept field by field |
| enumerated | a word of a fixed list or public pattern; another one becomes "other" or stops the export |
| quantised | the next lower multiple of a step (for small counts: as it is) |
| capped | no more than a limit: of a gap, or of the length of a list |
| dropped | nothing: null, or an empty list |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Final, Literal, get_args

from anonymize.cleanup import REJECTIONS
from anonymize.words import (
    HARNESSES,
    KINDS,
    OTHER,
    STOPS,
    audit_word,
    checksum,
    created_by,
    public_model,
    tokenizer_name,
)
from corpus.card import COUNTED
from corpus.exchange import AgentKind, End, Purpose
from corpus.session import Anchor, EdgeKind, Evidence, Role, SourceDialect, SourceFormat, ToolClass
from wire.api import Api

# The clock of a public corpus, and the longest pause it shows: the methodology of the published benchmarks caps idle
# times at five minutes, so nothing that is replayed is lost.
TIME_GRID_US: Final = 100_000
PAUSE_CAP_US: Final = 3_600_000_000
# Tools and system prompts tell a harness version and a private instruction file by their exact size.
HEAD_STEP_TOKENS: Final = 256


class LeakError(RuntimeError):
    """A field or value that is on no list reached a finished record: a bug of ours. Names the field only."""


@dataclass(frozen=True, slots=True)
class Treatment:
    kind: Literal["kept", "quantised", "capped", "enumerated", "dropped"]
    note: str = ""  # for people: which list, step or limit
    word: Callable[[str], str | None] | None = None  # enumerated: the public word for a word; None: there is none
    step: int = 1  # quantised: multiples of this
    above: int = 0  # quantised: values up to this stay
    limit: int = 0  # capped
    by: Literal["value", "clock", "lengths"] = "value"  # what applies it: the value alone, or the session as a whole


@dataclass(frozen=True, slots=True)
class Field:
    owner: Treatment
    public: Treatment


def _listed(words: frozenset[str]) -> Callable[[str], str | None]:
    otherwise = OTHER if OTHER in words else None
    return lambda word: word if word in words else otherwise


def _words(words: frozenset[str], note: str) -> Field:
    treatment = Treatment("enumerated", note, word=_listed(words))
    return Field(treatment, treatment)


def _literal(kind: object) -> Field:
    return _words(frozenset(get_args(kind)), "fixed list")


def _pattern(word: Callable[[str], str | None], note: str) -> Field:
    treatment = Treatment("enumerated", note, word=word)
    return Field(treatment, treatment)


def _crowded(field: Field, more: str) -> Field:
    """Whatever the value, `anonymize.crowd` looks at how many people have it."""
    return replace(field, public=replace(field.public, note=field.public.note + more))


_KEPT: Final = Treatment("kept")
_DROPPED: Final = Treatment("dropped")
_CLOCK: Final = Treatment("quantised", "0.1 s from the start; pauses at most 1 h", step=TIME_GRID_US, by="clock")
_same: Final = Field(_KEPT, _KEPT)
_never: Final = Field(_DROPPED, _DROPPED)
_private: Final = Field(_KEPT, _DROPPED)
_time: Final = Field(_KEPT, _CLOCK)
_CLASS: Final = Field(_KEPT, Treatment("quantised", "its class: 200, 400, 500", step=100))

FIELDS: Final[dict[str, dict[str, Field]]] = {
    "Session": {
        "session": _same,  # its number in the corpus
        "source_format": _literal(SourceFormat),
        "source_dialect": _literal(SourceDialect),
        "harness": _crowded(_words(HARNESSES, "known harnesses"), "; rare ones are other"),
        "harness_version": _crowded(
            Field(_KEPT, Treatment("capped", "major and minor", limit=2)), "; rare ones are dropped"
        ),
        "block_size": _same,
        "models": _crowded(_pattern(public_model, "public model names"), "; rare ones are other"),
        "agents": _same,
        "requests": _same,
        "tool_calls": _same,
        "edges": _same,
        "source": _never,
    },
    "Agent": {"agent": _same, "parent": _same, "kind": _literal(AgentKind), "source": _never},
    "Request": {
        "request": _same,
        "agent": _same,
        "position": _same,
        "purpose": _literal(Purpose),
        "api": _literal(Api),
        "stream": _same,
        "model": _same,  # which of Session.models
        "t_start_us": _time,
        "t_first_us": _time,
        "t_end_us": _time,
        "end": _literal(End),
        "status": _CLASS,
        "retry_of": _same,
        "stop": _words(STOPS, "known stop reasons"),
        "input_kinds": _words(frozenset(KINDS.values()), "kinds of content"),
        "output_kinds": _words(frozenset(KINDS.values()), "kinds of content"),
        "input_tokens": Field(_KEPT, Treatment("quantised", "whole blocks", by="lengths")),
        "output_tokens": Field(_KEPT, Treatment("quantised", "8 above 64", step=8, above=64)),
        "usage": _private,  # cache counters tell of other sessions of the same organisation
        "blocks": _same,
        "segments": _same,
        "recorded_think_us": _private,
        "recorded_api_us": _private,
        "recorded_ttft_us": _private,
        "attempts": _same,
    },
    "Attempt": {
        "lead_us": _time,
        "duration_us": _time,
        "end": _literal(End),
        "status": _CLASS,
        "repeated": _same,
    },
    "Usage": {
        "input_tokens": _private,
        "cache_read_tokens": _private,
        "cache_write_tokens": _private,
        "output_tokens": _private,
        "reasoning_tokens": _private,
    },
    "Blocks": {
        "base": _same,
        "keep": _same,
        "run_start": Field(_KEPT, Treatment("kept", "what five contributors share under numbers drawn anew")),
        "run_len": _same,
    },
    "Segments": {
        "keep": _same,
        "roles": _literal(Role),
        "tokens": Field(
            _KEPT,
            Treatment("quantised", "ends at whole blocks; tools and system at 256, rare sizes at 4096", by="lengths"),
        ),
    },
    "ToolCall": {
        "call": _same,
        "emit": _same,
        "result": _same,
        "tool": _literal(ToolClass),
        "is_error": _same,
        "spawned": _same,
        "deliveries": _same,
    },
    "Delivery": {"request": _same, "evidence": _literal(Evidence)},
    "Edge": {
        "src": _same,
        "dst": _same,
        "kind": _literal(EdgeKind),
        "delay_us": _time,
        "anchor": _literal(Anchor),
        "evidence": _literal(Evidence),
    },
    "Card": {
        "created_by": _pattern(created_by, "agentreel and its version"),
        "tokenizer": _pattern(tokenizer_name, "a plain short name"),
        "tokenizer_sha256": _pattern(checksum, "hexadecimal"),
        "calibration": _pattern(checksum, "hexadecimal"),
        "block_size": _same,
        "version": _same,
        "fingerprint": _pattern(checksum, "hexadecimal"),
        "counts": _words(frozenset(COUNTED), "tables"),
        "rejected": _words(REJECTIONS, "reasons"),
        "policy": _words(frozenset(("owner", "public")), "the columns of this table"),
        "audit": _pattern(audit_word, "tests by number, and how many sessions passed"),
    },
}


def check_record(record: object) -> Counter[str]:
    """Holds a session, card or any record in them against the owner's column; counts its strings by field.

    `LeakError` at the first field that the table does not know, or value that it does not allow ("Request.stop").
    """
    seen: Counter[str] = Counter()
    for name, rule, value in _leaves(record):
        flaw = _flaw(rule.owner, value)
        if flaw:
            raise LeakError(f"{name} {flaw}")
        if isinstance(value, str):
            seen[name] += 1
    return seen


def strings_of(record: object) -> Iterator[tuple[str, str]]:
    """Every string of a record and the records in it, with its field; `LeakError` for an unknown field."""
    return ((name, value) for name, _, value in _leaves(record) if isinstance(value, str))


def is_fixed(name: str, text: str) -> bool:
    """Whether this word is one of those that its field allows: it is ours, or public."""
    record, _, field = name.partition(".")
    treatment = FIELDS[record][field].owner
    return treatment.word is not None and treatment.word(text) == text


def rule_of(record: object, field: str) -> Field:
    """`LeakError` when the table does not know the field."""
    kind = type(record).__name__
    rule = FIELDS.get(kind, {}).get(field)
    if rule is None:
        raise LeakError(f"{kind}.{field} is in no row of the policy table")
    return rule


def _flaw(treatment: Treatment, value: object) -> str | None:
    if treatment.kind == "dropped":
        return "holds something, where nothing may leave"
    if not isinstance(value, str):
        return None if isinstance(value, int) else "holds neither a number, a word nor a record"
    if treatment.word is None:
        return "holds a string, where only numbers may leave"
    return None if treatment.word(value) == value else "holds a string that is on no allow-list"


def _leaves(record: object) -> Iterator[tuple[str, Field, object]]:
    """Every number, word and unfit value of a record and the records in it, with the field that holds it."""
    for part in fields(record) if is_dataclass(record) else ():
        rule = rule_of(record, part.name)
        name = f"{type(record).__name__}.{part.name}"
        for value in _flattened(getattr(record, part.name)):
            if is_dataclass(value):
                yield from _leaves(value)
            elif value is not None:
                yield name, rule, value


def _flattened(value: Any) -> Iterator[object]:
    if isinstance(value, dict):
        yield from value.keys()
        yield from _flattened(tuple(value.values()))
    elif isinstance(value, tuple | list | set | frozenset):
        for item in value:
            yield from _flattened(item)
    else:
        yield value
