"""The fourteen tests by number, and what each of them found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

NAMES: Final[dict[str, str]] = {
    "T1": "block numbers are 1, 2, 3, ... by first appearance",
    "T2": "two keys give the same bytes",
    "T3": "a permuted vocabulary gives the same bytes",
    "T4": "equal prefixes of blocks are equal prefixes of tokens",
    "T5": "canaries in every captured field do not come out",
    "T6": "no stretch of captured text stands in a string",
    "T7": "every string is on the allow-list",
    "T8": "no string looks like a hash, id, address or path",
    "T9": "a dictionary finds nothing without the key, and would with it",
    "T10": "how recognisable sessions are",
    "T11": "times tell no date",
    "T12": "files hold no metadata of their own",
    "T13": "a secret scanner finds nothing",
    "T14": "the session's key was not written",
}


@dataclass(frozen=True, slots=True)
class Finding:
    id: str
    ok: bool
    detail: str  # content-free: fields, counts, file names of the corpus; never a value

    @property
    def name(self) -> str:
        return NAMES[self.id]
