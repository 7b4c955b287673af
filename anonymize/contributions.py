"""Who gave which session of a corpus, and where their prompts begin alike, in small numbers; for the owner alone.

`publish` shows as one what at least five contributors have in common (`anonymize.sharing`, `anonymize.crowd`), so it
has to know who is one person and which heads are equal. A corpus must not say that, so it lies in a file beside it,
mode 0600, which is never published and without which nothing is shared. It holds no name, no digest and no key: people
are 0, 1, 2, ... in order of their first session, and so are distinct heads' blocks. What it does tell: which sessions
came from the same person, and which begin with the same harness. What only one person sent has no number.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from anonymize.heads import Head
from corpus.errors import InputError

_FORMAT: Final = "agentreel-contributions-1"

_SEVERAL: Final = -1
_NONE: Final = np.empty(0, dtype=np.int64)

type Ids = NDArray[np.int64]
type Run = tuple[int, int, int]  # first block of a session, first common block, how many follow in both


@dataclass(frozen=True, slots=True)
class Contributions:
    """Parallel to a corpus's sessions; both tuples are empty where nothing is known."""

    contributors: tuple[int | None, ...] = ()  # None: nobody knows
    heads: tuple[tuple[Run, ...], ...] = ()

    def contributor(self, session: int) -> int | None:
        return self.contributors[session] if session < len(self.contributors) else None

    def common_blocks(self, session: int) -> dict[int, int]:
        """A session's block numbers -> numbers that they have in common with other people's sessions."""
        runs = self.heads[session] if session < len(self.heads) else ()
        return {block + n: common + n for block, common, length in runs for n in range(length)}


class HeadNumbers:
    """Sessions' heads are added in their order, None for those of nobody; digests are not kept beyond it."""

    def __init__(self) -> None:
        self._people: dict[str, int] = {}
        self._numbers: dict[bytes, int] = {}
        self._owners: list[int] = []  # parallel: whose the block is, or:
        self._sessions: list[tuple[int | None, Ids, Ids]] = []  # contributor, blocks, their numbers here

    def add(self, head: Head | None) -> None:
        if head is None:
            self._sessions.append((None, _NONE, _NONE))
            return
        person = self._people.setdefault(head.contributor, len(self._people))
        blocks = np.array(sorted(head.blocks), dtype=np.int64)
        numbers = [self._number(bytes.fromhex(head.blocks[block]), person) for block in blocks.tolist()]
        self._sessions.append((person, blocks, np.array(numbers, dtype=np.int64)))

    def contributions(self) -> Contributions:
        """Nothing is known unless two people gave something."""
        if len(self._people) < 2:
            return Contributions()
        common = np.array(self._owners, dtype=np.int64) == _SEVERAL
        order = np.cumsum(common) - 1
        runs = []
        for _, blocks, numbers in self._sessions:
            kept = common[numbers]
            runs.append(_runs(blocks[kept], order[numbers[kept]]))
        return Contributions(tuple(person for person, _, _ in self._sessions), tuple(runs))

    def _number(self, digest: bytes, person: int) -> int:
        number = self._numbers.setdefault(digest, len(self._numbers))
        if number == len(self._owners):
            self._owners.append(person)
        elif self._owners[number] != person:
            self._owners[number] = _SEVERAL
        return number


def contributions_path(corpus: Path) -> Path:
    return corpus.with_name(f"{corpus.name}.contributions.json")


def write_contributions(corpus: Path, known: Contributions, fingerprint: str) -> None:
    """Beside the corpus, in the place of what an earlier build left there; no file when nothing is known."""
    path = contributions_path(corpus)
    path.unlink(missing_ok=True)
    if known.contributors:
        made = {"format": _FORMAT, "corpus": fingerprint, "contributors": known.contributors, "heads": known.heads}
        with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(orjson.dumps(made))


def read_contributions(corpus: Path, fingerprint: str) -> Contributions:
    """Empty when there is no file; InputError when it is another corpus's, or broken."""
    path = contributions_path(corpus)
    try:
        found = orjson.loads(path.read_bytes())
        if found["format"] != _FORMAT:
            raise InputError(path, "is of another version", "build the corpus again")
        if found["corpus"] != fingerprint:
            raise InputError(path, "belongs to another corpus", "build the corpus again, or remove the file")
        return Contributions(tuple(found["contributors"]), tuple(map(_checked, found["heads"])))
    except FileNotFoundError:
        return Contributions()
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}") from error
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise InputError(path, "is broken", "build the corpus again") from error


def _checked(runs: Any) -> tuple[Run, ...]:
    return tuple((int(block), int(common), int(length)) for block, common, length in runs)


def _runs(blocks: Ids, common: Ids) -> tuple[Run, ...]:
    ends = (np.nonzero((np.diff(blocks) != 1) | (np.diff(common) != 1))[0] + 1).tolist()
    bounds = pairwise([0, *ends, len(blocks)]) if len(blocks) else ()
    return tuple((int(blocks[start]), int(common[start]), end - start) for start, end in bounds)
