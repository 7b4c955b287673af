"""Prompt content: every block id becomes 64 tokens nobody wrote, the same in every run with the same seed.

A token is a vocabulary entry that reads " " + lowercase letters. Such words stay single tokens however they are joined,
so the same prompt can go out as token ids or as text and the server counts what was planned. Tokens of a block depend
on (seed, session, block id); the first block of a prompt and the tail also depend on the play, so plays share no cache
while requests of one play share exactly what they shared when recorded, and no token is added for it.

Encoded blocks are cached per play: building a prompt costs new work for new blocks only, and a join for the rest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from corpus.errors import InputError
from corpus.session import Session
from replay.plan import whole_blocks

Form = Literal["ids", "text"]

# Fewer words than this would make blocks look alike to a speculative decoder.
_LEAST_WORDS: Final = 256
_CHECKED_JOINS: Final = 64
_CHECKED_WORDS: Final = 256


class Tokenizer(Protocol):
    """The part of `corpus.tokenizer.Tokenizer` that is needed here."""

    @property
    def name(self) -> str: ...
    @property
    def vocab_size(self) -> int: ...
    def encode(self, text: str) -> NDArray[np.uint32]: ...
    def token_text(self, token: int) -> str: ...


@dataclass(frozen=True, slots=True)
class WordPool:
    ids: tuple[int, ...]  # ascending
    words: tuple[str, ...]  # each with its leading space


@dataclass(frozen=True, slots=True)
class Alphabet:
    """What stands for each word of the pool in a request body, and what goes between two of them."""

    pieces: tuple[bytes, ...]
    between: bytes


def alphabet_of(pool: WordPool, form: Form) -> Alphabet:
    """`ids`: numbers with commas between; `text`: words, which need no JSON escapes."""
    if form == "ids":
        return Alphabet(tuple(str(number).encode() for number in pool.ids), b",")
    return Alphabet(tuple(word.encode() for word in pool.words), b"")


def build_pool(tokenizer: Tokenizer) -> WordPool:
    """Raises InputError for a vocabulary without enough words that survive being joined and encoded again."""
    words = {number: tokenizer.token_text(number) for number in range(tokenizer.vocab_size)}
    ids = [number for number, word in words.items() if _is_word(word)]
    if not _survives(tokenizer, ids, words):
        ids = [number for number in ids if _survives(tokenizer, [number], words)]
    pool = WordPool(tuple(ids), tuple(words[number] for number in ids))
    if len(ids) < _LEAST_WORDS or not _joins_survive(tokenizer, pool):
        raise InputError(
            f"tokenizer {tokenizer.name}",
            f"has too few words ({len(ids)}) that stay single tokens when joined",
            "replay with another --tokenizer that the server's model uses",
        )
    return pool


def _is_word(text: str) -> bool:
    return len(text) > 2 and text[0] == " " and text[1:].isascii() and text[1:].isalpha() and text[1:].islower()


def _survives(tokenizer: Tokenizer, ids: Sequence[int], words: dict[int, str]) -> bool:
    encoded: list[int] = tokenizer.encode("".join(words[number] for number in ids)).tolist()
    return encoded == list(ids)


def _joins_survive(tokenizer: Tokenizer, pool: WordPool) -> bool:
    for join in range(_CHECKED_JOINS):
        drawn = _draw(f"check:{join}", _CHECKED_WORDS, len(pool.ids))
        text = "".join(pool.words[i] for i in drawn)
        if tokenizer.encode(text).tolist() != [pool.ids[i] for i in drawn]:
            return False
    return True


def _draw(key: str, count: int, below: int) -> list[int]:
    """`count` numbers, a function of the key alone, the same on every machine and version."""
    digest = hashlib.shake_128(key.encode()).digest(4 * count)
    drawn: list[int] = (np.frombuffer(digest, dtype="<u4") % below).tolist()
    return drawn


class PlayContent:
    """Prompts of one play, each as the bytes that stand for it in a JSON body.

    `prompts` are the block lists of the session's requests, by request number.
    """

    def __init__(
        self, alphabet: Alphabet, session: Session, prompts: Sequence[NDArray[np.int64]], seed: int, play: int
    ) -> None:
        self._alphabet = alphabet
        self._key = f"{seed}:{session.session}"
        self._play = play
        self._requests = session.requests
        self._prompts = prompts
        self._block_size = session.block_size
        self._cache: dict[int, bytes] = {}

    def missing(self, request: int) -> list[int]:
        """Blocks of the prompt that are not encoded yet; what opens the prompt is not among them."""
        return [block for block in self._blocks(request)[1:] if block not in self._cache]

    def encode(self, blocks: Iterable[int]) -> None:
        for block in blocks:
            if block not in self._cache:
                self._cache[block] = self._join(self._block(block, opens=False))

    def prompt(self, request: int) -> bytes:
        """The whole prompt, `input_tokens` tokens long."""
        self.encode(self.missing(request))
        blocks = self._blocks(request)
        pieces = [self._join(self._block(block, opens=True)) for block in blocks[:1]]
        pieces += [self._cache[block] for block in blocks[1:]]
        if tail := self._tail(request):
            pieces.append(self._join(tail))
        return self._alphabet.between.join(pieces)

    def part(self, request: int, start: int, stop: int) -> bytes:
        """Tokens `start` up to `stop` of the prompt: equal to that slice of the whole."""
        blocks = self._blocks(request)
        size = self._block_size
        whole = len(blocks) * size
        pieces: list[bytes] = []
        for number in range(start // size, min(len(blocks), -(-stop // size))):
            first, last = max(0, start - number * size), min(size, stop - number * size)
            if number and last - first == size:
                self.encode([blocks[number]])
                pieces.append(self._cache[blocks[number]])
            else:
                pieces.append(self._join(self._block(blocks[number], opens=number == 0)[first:last]))
        if stop > whole:
            pieces.append(self._join(self._tail(request)[max(0, start - whole) : stop - whole]))
        return self._alphabet.between.join(pieces)

    def _blocks(self, request: int) -> list[int]:
        listed = self._prompts[request]
        whole = whole_blocks(self._requests[request].input_tokens, len(listed), self._block_size)
        blocks: list[int] = listed[:whole].tolist()
        return blocks

    def _block(self, block: int, *, opens: bool) -> list[int]:
        key = f"{self._key}:{block}:play {self._play}" if opens else f"{self._key}:{block}"
        return self._draw(key, self._block_size)

    def _tail(self, request: int) -> list[int]:
        planned = self._requests[request].input_tokens
        whole = whole_blocks(planned, len(self._prompts[request]), self._block_size)
        return self._draw(f"{self._key}:tail {request}:play {self._play}", planned - whole * self._block_size)

    def _draw(self, key: str, count: int) -> list[int]:
        return _draw(key, count, len(self._alphabet.pieces))

    def _join(self, drawn: Iterable[int]) -> bytes:
        pieces = self._alphabet.pieces
        return self._alphabet.between.join([pieces[number] for number in drawn])
