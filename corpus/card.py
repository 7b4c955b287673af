"""The card beside a corpus: who wrote it, how its tokens were counted, what is in it and what was left out."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

import orjson

from corpus.errors import InputError

CORPUS_VERSION: Final = 2  # of tables and card together; a reader takes this one only
CARD_NAME: Final = "card.json"
# keys that cards of this version first lacked
_SINCE: Final[dict[str, Any]] = {"policy": "owner", "audit": {}, "calibration": None}
COUNTED: Final = ("sessions", "agents", "requests", "tool_calls", "edges")


@dataclass(frozen=True, slots=True)
class Card:
    """`fingerprint` and `counts` are filled in by `write_corpus`; whoever makes a card may leave them empty.

    `rejected` counts by reason what was left out; it and `audit` may still be filled while the sessions are written.
    """

    created_by: str  # "agentreel 0.1.0"
    tokenizer: str | None = None  # None: the counts are an import's own
    tokenizer_sha256: str | None = None
    block_size: int | None = None  # tokens; None: as each session says
    version: int = CORPUS_VERSION
    fingerprint: str = ""
    counts: dict[str, int] = field(default_factory=dict)  # rows of each table
    rejected: dict[str, int] = field(default_factory=dict)
    calibration: str | None = None  # SHA-256 of the one that lengths follow; None: they are the tokenizer's own
    policy: str = "owner"  # whose column of the policy table the values follow: "owner" or "public"
    audit: dict[str, str] = field(default_factory=dict)  # audit tests that only a build can run, and what they found


def is_corpus(path: Path) -> bool:
    """Whether `path` looks like a corpus folder; it may still be damaged."""
    return (path / CARD_NAME).is_file() and (path / "sessions.parquet").exists()


def write_card(folder: Path, card: Card) -> None:
    (folder / CARD_NAME).write_bytes(orjson.dumps(asdict(card), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def read_card(folder: Path) -> Card:
    """InputError when the card is missing, broken or of another version."""
    where = folder / CARD_NAME
    try:
        found = orjson.loads(where.read_bytes())
    except OSError as error:
        raise InputError(folder, f"is no corpus: {CARD_NAME} cannot be read ({error.strerror})") from error
    except orjson.JSONDecodeError as error:
        raise InputError(where, f"is broken JSON ({error})", "write the corpus again") from error
    if not isinstance(found, dict):
        raise InputError(where, "is no JSON object", "write the corpus again")
    if found.get("version") != CORPUS_VERSION:
        problem = f"version {found.get('version')!r}, this agentreel reads version {CORPUS_VERSION}"
        raise InputError(where, problem, "build the corpus again, or read it with the agentreel that wrote it")
    return _card_of(found, where)


def _card_of(found: dict[str, Any], where: Path) -> Card:
    names = {f.name for f in fields(Card)}
    found = _SINCE | found
    if found.keys() != names:
        odd = ", ".join(sorted(names ^ found.keys()))
        raise InputError(where, f"has missing or unknown keys: {odd}", "write the corpus again")
    for name, value in found.items():
        if not _fits(name, value):
            raise InputError(where, f"{name}: {value!r} is of the wrong type", "write the corpus again")
    return Card(**found)


def _fits(name: str, value: object) -> bool:
    match name:
        case "version" | "block_size":
            return type(value) is int or (value is None and name == "block_size")
        case "counts" | "rejected":
            return isinstance(value, dict) and all(type(count) is int for count in value.values())
        case "audit":
            return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
        case "policy":
            return value in ("owner", "public")
        case "tokenizer" | "tokenizer_sha256" | "calibration":
            return value is None or isinstance(value, str)
        case _:
            return isinstance(value, str)
