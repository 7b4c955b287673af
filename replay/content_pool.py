"""A pool of code and tool text for one tokenizer, from which any number of exact pieces can be drawn.

The snippets of `content_templates` lie end to end as cells (`content_cells`). A draw is a window of them with its holes
filled by hashed numbers, so there are as many pieces as the hash has values, and none is stored. A piece begins with a
space and a word and ends with a word: tokenizers cut there whatever comes before and after.

Tokenizers cut text at places that depend on the kinds of characters around them, never on the word. So what encodes to
its cells with one filling does with every other, and the pool is proven once: every snippet, then pieces from every
start, joined. A tokenizer that fails gets a pool of plain words behind spaces, which says why.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import orjson
from numpy.typing import NDArray

from corpus.errors import InputError
from corpus.tokenizer import load_tokenizer
from replay.content_cells import LOCALS, Atoms, Cell, Cutter, Strip, Tokenizer, lay
from replay.content_templates import FLAT_SNIPPETS, SNIPPETS

Form = Literal["ids", "text"]

MOST_TOKENS: Final = 64  # of one draw
_HEAD: Final = 2 + len(LOCALS)  # 16-bit numbers of a draw before those of fresh holes: start (two), locals
_PROOFS: Final = 128
_LEAST_SNIPPETS: Final = 0.75  # of them, else the text would be too much of the same


@dataclass(frozen=True, slots=True)
class Pool:
    """`flat` has nothing that JSON escapes; `words` is why the text is plain words ("": it is not)."""

    texts: tuple[str, ...]  # of the atoms
    ids: tuple[int, ...]
    code: Strip
    flat: Strip
    filler: Cell  # a word behind a space
    words: str = ""

    def draw(self, keys: Sequence[str], counts: int | Sequence[int], *, flat: bool = False) -> NDArray[np.int64]:
        """A row of atoms a key, a function of the key and its count alone; at most `MOST_TOKENS`.

        Rows are as long as the largest count: what lies beyond a row's own means nothing.
        """
        strip = self.flat if flat else self.code
        taken = 2 * (_HEAD + MOST_TOKENS)
        digests = b"".join([hashlib.shake_128(key.encode()).digest(taken) for key in keys])
        drawn = np.frombuffer(digests, dtype="<u2").reshape(len(keys), -1).astype(np.int64)
        number = (drawn[:, 0] << 16) | drawn[:, 1]
        start = strip.starts[number % len(strip.starts)]
        sizes = np.broadcast_to(np.asarray(counts, dtype=np.int64), len(keys))
        width = int(sizes.max())
        cells = start[:, None] + np.arange(width)
        source = strip.source[cells]
        source = np.where(source < 0, np.arange(_HEAD, _HEAD + width), source + 2)
        chosen = np.take_along_axis(drawn, source, axis=1)
        atoms = strip.base[cells] + (chosen * strip.span[cells] >> 16)
        filling = self.filler.base + (drawn[:, _HEAD : _HEAD + width] * self.filler.span >> 16)
        return np.where(cells > strip.ends[start + sizes - 1][:, None], filling, atoms)

    def pieces(self, form: Form) -> tuple[tuple[bytes, ...], bytes]:
        """What stands for each atom in a JSON body, and what goes between two of them."""
        if form == "ids":
            return tuple(str(number).encode() for number in self.ids), b","
        return tuple(orjson.dumps(text)[1:-1] for text in self.texts), b""


def make_pool(tokenizer: str) -> Pool:
    """As `build_pool`, by name or file; InputError for a tokenizer that there is not."""
    return build_pool(load_tokenizer(tokenizer, fast=False))


def build_pool(tokenizer: Tokenizer) -> Pool:
    """InputError for a vocabulary without enough words that survive being joined and encoded again."""
    try:
        return _code_pool(tokenizer)
    except _UnfitError as unfit:
        return _word_pool(tokenizer, str(unfit))


class _UnfitError(Exception):
    """Why this tokenizer cannot have code."""


def _code_pool(tokenizer: Tokenizer) -> Pool:
    atoms = Atoms()
    cutter = Cutter(tokenizer, atoms)
    filler = cutter.cut(" $w") or []
    strips = []
    for snippets in (SNIPPETS, FLAT_SNIPPETS):
        cut = [cells for cells in map(cutter.cut, snippets) if cells is not None]
        if len(filler) != 1 or len(cut) < _LEAST_SNIPPETS * len(snippets):
            raise _UnfitError(f"cuts {len(snippets) - len(cut)} of {len(snippets)} snippets of code in unusual places")
        joined = [cell for cells in cut for cell in cells]
        strips.append(lay(joined, atoms.texts, lambda text: len(tokenizer.encode(text)) == 1, MOST_TOKENS))
    if not all(len(strip.starts) for strip in strips):
        raise _UnfitError("has no words that code may begin with")
    pool = Pool(tuple(atoms.texts), tuple(atoms.ids), strips[0], strips[1], filler[0])
    if not is_exact(pool, tokenizer):
        raise _UnfitError("does not cut joined pieces of code where they begin and end")
    return pool


def _word_pool(tokenizer: Tokenizer, reason: str) -> Pool:
    atoms = Atoms()
    filler = Cutter(tokenizer, atoms).words()
    if filler is not None:
        strip = lay([filler] * MOST_TOKENS, atoms.texts, lambda _text: True, MOST_TOKENS)
        pool = Pool(tuple(atoms.texts), tuple(atoms.ids), strip, strip, filler, reason)
        if is_exact(pool, tokenizer):
            return pool
    raise InputError(
        f"tokenizer {tokenizer.name}",
        f"{reason}, and has too few words that stay single tokens when joined",
        "replay with another --tokenizer that the server's model uses",
    )


def is_exact(pool: Pool, tokenizer: Tokenizer) -> bool:
    """Do pieces of all lengths, code and flat, joined in one text encode to what was drawn?"""
    drawn: list[int] = []
    for flat in (False, True):
        drawn += pool.draw([f"proof:{number}" for number in range(_PROOFS)], MOST_TOKENS, flat=flat).ravel().tolist()
        for count in range(1, MOST_TOKENS):
            drawn += pool.draw([f"proof of {count}"], count, flat=flat).ravel().tolist()
    text = "".join([pool.texts[atom] for atom in drawn])
    ids: list[int] = tokenizer.encode(text).tolist()
    return ids == [pool.ids[atom] for atom in drawn]
