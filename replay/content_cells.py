"""Snippets cut into the single tokens of one tokenizer: fixed text, and holes with the class of words that fit there.

A class belongs to what stands before the hole (a space, `(`, ` "`): tokenizers join that with the word, for some words
into one token and for others not, and a class holds the words of the more common case. So a hole is always one token,
behind a fixed number of others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

FRESH: Final = -1  # source of a hole that is another word every time
LOCALS: Final = "abcdefgh"  # names that stay the same within a block

_HOLE: Final = re.compile(r"\$([a-hnw])")
_BEFORE: Final = re.compile(r" ?[^\sA-Za-z0-9]*$")
_OPENING: Final = re.compile(r" [A-Za-z]{2,}")
_LEAST_WORDS: Final = 256  # fewer in one class would make blocks look alike to a speculative decoder
_LEAST_NUMBERS: Final = 128  # of three digits
_MOST_WORDS: Final = 4_096  # behind a space, where half of all holes are
_TRIED_WORDS: Final = (
    512,
    1_536,
)  # for other classes, where trying costs start-up time: behind several characters, one


class Tokenizer(Protocol):
    """The part of `corpus.tokenizer.Tokenizer` that is needed here."""

    @property
    def name(self) -> str: ...
    def encode(self, text: str) -> NDArray[np.uint32]: ...
    def token_text(self, token: int) -> str: ...
    def lowercase_words(self) -> Iterable[str]: ...


@dataclass(frozen=True, slots=True)
class Cell:
    """One token: the first of `span` atoms that fit, and who chooses among them (FRESH or a local's number)."""

    base: int
    span: int = 1
    source: int = FRESH


@dataclass
class Atoms:
    """The tokens text is made of, numbered; what fits into one hole has consecutive numbers."""

    texts: list[str] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    _fixed: dict[int, int] = field(default_factory=dict)

    def fixed(self, token: int, text: str) -> int:
        if token not in self._fixed:
            self._fixed[token] = self.span([token], [text])
        return self._fixed[token]

    def span(self, ids: Sequence[int], texts: Sequence[str]) -> int:
        first = len(self.ids)
        self.ids += ids
        self.texts += texts
        return first


class Cutter:
    """Cuts snippets for one tokenizer; None where it does not cut them as needed."""

    def __init__(self, tokenizer: Tokenizer, atoms: Atoms) -> None:
        self._tokenizer = tokenizer
        self._atoms = atoms
        line_end = tokenizer.encode("a\na").tolist()
        self._line_end: int | None = line_end[1] if len(line_end) == 3 else None
        self._words: list[str] | None = None
        self._classes: dict[str, list[Cell] | None] = {}
        self._number: list[Cell] | None = None

    def words(self) -> Cell | None:
        """A hole behind a space, for pools of nothing else."""
        pairs = [
            (" " + word, self._tokenizer.encode(" " + word).tolist()) for word in self._tokenizer.lowercase_words()
        ]
        kept = [(text, ids[0]) for text, ids in pairs if len(ids) == 1]
        if len(kept) < _LEAST_WORDS:
            return None
        return Cell(self._atoms.span([token for _, token in kept], [text for text, _ in kept]), len(kept))

    def cut(self, snippet: str) -> list[Cell] | None:
        cells: list[Cell] = []
        for fixed, hole in _pieces(snippet):
            before = _BEFORE.search(fixed)
            context = before[0] if before and hole not in ("", "n") else ""
            literal = self._literal(fixed[: len(fixed) - len(context)])
            filled = self._hole(context, hole) if hole else []
            if literal is None or filled is None:
                return None
            cells += literal + filled
        return cells if self._is_proven(cells) else None

    def _is_proven(self, cells: Sequence[Cell]) -> bool:
        drawn = [cell.base + number * 7 % cell.span for number, cell in enumerate(cells)]
        text = "".join(self._atoms.texts[atom] for atom in drawn)
        ids: list[int] = self._tokenizer.encode(text).tolist()
        return ids == [self._atoms.ids[atom] for atom in drawn]

    def _literal(self, text: str) -> list[Cell] | None:
        ids = self._tokenizer.encode(text).tolist() if text else []
        texts = [self._tokenizer.token_text(token) for token in ids]
        if "".join(texts) != text:
            return None
        return [Cell(self._atoms.fixed(token, said)) for token, said in zip(ids, texts, strict=True)]

    def _hole(self, context: str, hole: str) -> list[Cell] | None:
        if hole == "n":
            self._number = self._number or self._make_number()
            return self._number
        if context not in self._classes:
            self._classes[context] = self._make_class(context)
        made = self._classes[context]
        if made is None or hole == "w":
            return made
        return [*made[:-1], Cell(made[-1].base, made[-1].span, LOCALS.index(hole))]

    def _make_class(self, context: str) -> list[Cell] | None:
        if self._words is None:
            self._words = self._usable_words()
        words = self._words if context == " " else self._words[: _TRIED_WORDS[len(context) == 1]]
        found = self._encode_each([context + word for word in words])
        forms = Counter(tuple(ids[:-1]) for ids in found)
        form, count = forms.most_common(1)[0] if forms else ((), 0)
        if count < _LEAST_WORDS:
            return None
        suffix = context.removeprefix("".join(self._tokenizer.token_text(token) for token in form))
        kept = [(ids[-1], word) for ids, word in zip(found, words, strict=True) if tuple(ids[:-1]) == form]
        first = self._atoms.span([token for token, _ in kept], [suffix + word for _, word in kept])
        fixed = [Cell(self._atoms.fixed(token, self._tokenizer.token_text(token))) for token in form]
        return [*fixed, Cell(first, len(kept))]

    def _usable_words(self) -> list[str]:
        """Words that are one token with a space before them and without, so that templates may trim a text."""
        long = (word for word in self._tokenizer.lowercase_words() if len(word) > 2)
        words = list(islice(long, _MOST_WORDS))
        spaced, bare = self._encode_each([" " + word for word in words]), self._encode_each(words)
        both = zip(words, spaced, bare, strict=True) if spaced and bare else ()
        return [word for word, one, other in both if len(one) == len(other) == 1][:_MOST_WORDS]

    def _make_number(self) -> list[Cell] | None:
        """Three digits: one token, or three where every digit is its own."""
        texts = [str(number) for number in range(100, 1000)]
        found = self._encode_each(texts)
        kept = [(ids[0], text) for ids, text in zip(found, texts, strict=True) if len(ids) == 1] if found else []
        if len(kept) >= _LEAST_NUMBERS:
            return [Cell(self._atoms.span([token for token, _ in kept], [text for _, text in kept]), len(kept))]
        digits = self._encode_each(list("0123456789"))
        if not digits or any(len(ids) != 1 for ids in digits) or any(len(ids) != 3 for ids in found):
            return None
        zero = self._atoms.span([ids[0] for ids in digits], list("0123456789"))
        return [Cell(zero + 1, 9), Cell(zero, 10), Cell(zero, 10)]

    def _encode_each(self, texts: Sequence[str]) -> list[list[int]]:
        """One list of ids a text, from one call; empty when line breaks do not stay apart."""
        if self._line_end is None or not texts:
            return []
        ids = self._tokenizer.encode("\n".join(texts))
        ends = np.flatnonzero(ids == self._line_end).tolist()
        if len(ends) != len(texts) - 1:
            return []
        flat: list[int] = ids.tolist()
        return [flat[start:end] for start, end in zip([0, *(end + 1 for end in ends)], [*ends, len(flat)], strict=True)]


def _pieces(snippet: str) -> Iterator[tuple[str, str]]:
    """Fixed text and the letter of the hole behind it, "" at the end."""
    at = 0
    for found in _HOLE.finditer(snippet):
        yield snippet[at : found.start()], found[1]
        at = found.end()
    if at < len(snippet):
        yield snippet[at:], ""


@dataclass(frozen=True, slots=True)
class Strip:
    """Cells end to end. A text may start at `starts`, and one that reaches up to cell i may end behind `ends[i]`.

    At its end it repeats its beginning, so that a text of `reach` tokens fits from every start.
    """

    base: NDArray[np.int64]
    span: NDArray[np.int64]
    source: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


def lay(cells: Sequence[Cell], texts: Sequence[str], is_one_token: Callable[[str], bool], reach: int) -> Strip:
    """`texts` are those of the atoms. Texts start with a space and a word, and end with a letter that ends a word."""
    ring = [*cells, *(cells[number % len(cells)] for number in range(reach))]
    said = [texts[cell.base] for cell in ring]  # every word of a class is as good as its first
    starts = [n for n in range(len(cells)) if _OPENING.fullmatch(said[n]) and is_one_token(said[n][1:])]
    ends, last = [], -1
    for number, text in enumerate(said):
        following = said[number + 1] if number + 1 < len(said) else ""
        last = number if text[-1:].isalpha() and not following[:1].isalnum() else last
        ends.append(last)
    return Strip(
        base=np.array([cell.base for cell in ring], dtype=np.int64),
        span=np.array([cell.span for cell in ring], dtype=np.int64),
        source=np.array([cell.source for cell in ring], dtype=np.int64),
        starts=np.array(starts, dtype=np.int64),
        ends=np.array(ends, dtype=np.int64),
    )
