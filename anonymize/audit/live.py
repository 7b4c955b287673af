"""The audit tests that only a build can run: they need the exchanges, a session's key and its token streams.

One more pass over a session answers four of them together, with another key, a permuted vocabulary and chains that are
watched. Same bytes as before: neither key (T2) nor token ids (T3) show. The watched chains keep what each number stood
for, token by token: same number, same prefix, and the other way round (T4). And they are attacked with a dictionary
that holds the session's own beginning, which no real attacker has (T9).
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, Protocol

import numpy as np
import orjson
import xxhash

from anonymize.audit.disguises import disguises
from anonymize.digests import KEY_BYTES, BlockChains, Place
from anonymize.tokens import Tokens
from corpus.rows import rows_of
from corpus.session import Role, Session
from corpus.tokenizer import Tokenizer

LIVE: Final = ("T2", "T3", "T4", "T9", "T14")
_GUESSED_BLOCKS: Final = 256  # the beginning that the dictionary holds
_GUESSED_SEEDS: Final = 1 << 16  # of a seeded fast hash
_PERMUTATION_SEED: Final = 5

type MakeChains = Callable[[bytes, str, int], BlockChains]


class MakeAgain(Protocol):
    """The session once more from the same exchanges; None when it cannot be made."""

    def __call__(self, *, tokenizer: Tokenizer, key: bytes, chains: MakeChains) -> Session | None: ...


def audit_live(session: Session, again: MakeAgain, tokenizer: Tokenizer) -> dict[str, bool]:
    """T2, T3, T4 and T9 of one session: whether it passed."""
    order = np.random.default_rng(_PERMUTATION_SEED).permutation(tokenizer.vocab_size).astype(np.uint32)
    watched: list[WatchedChains] = []

    def watch(key: bytes, tokenizer_sha256: str, block_size: int) -> BlockChains:
        watched.append(WatchedChains(key, tokenizer_sha256, block_size))
        return watched[-1]

    other = again(tokenizer=tokenizer.relabelled(order), key=secrets.token_bytes(KEY_BYTES), chains=watch)
    ok_keys = ok_order = _same_bytes(session, other)
    if not ok_order:  # which of the two was it?
        keyed = again(tokenizer=tokenizer, key=secrets.token_bytes(KEY_BYTES), chains=BlockChains)
        ok_keys = _same_bytes(session, keyed)
    return {
        "T2": ok_keys,
        "T3": ok_order,
        "T4": all(chains.is_lawful for chains in watched),
        "T9": all(chains.withstands() for chains in watched),
    }


def key_shows(key: bytes, written: Collection[bytes]) -> bool:
    """T14: whether the key stands in anything that was written."""
    return any(form in data for form in disguises(key).values() for data in written)


def _same_bytes(one: Session, other: Session | None) -> bool:
    return other is not None and orjson.dumps(rows_of(one)) == orjson.dumps(rows_of(other))


class WatchedChains(BlockChains):
    """Chains that remember what every number stood for, and can be attacked before they are forgotten."""

    def __init__(self, key: bytes, tokenizer_sha256: str, block_size: int) -> None:
        super().__init__(key, tokenizer_sha256, block_size)
        self.is_lawful = True
        self._numbered: dict[tuple[int, bytes], int] = {}  # (number before, tokens) -> number; roots count from -1 down
        self._meant: dict[int, tuple[int, bytes]] = {}  # the other way round
        self._ends: dict[int, tuple[int, bytes]] = {}  # by identity of a place: number before, tokens in no block yet
        self._models: list[str] = []
        self._first: Place | None = None  # where the first prompt starts, and where it was followed to
        self._followed: Place | None = None
        self._beginning: list[bytes] = []  # its blocks

    def grow(self, place: Place, handle: int, role: Role, tokens: Tokens) -> Place:
        after = super().grow(place, handle, role, tokens)
        number, stream = self._ends.setdefault(id(place), (-1 - len(self._ends), b""))
        stream += tokens.astype("<u4").tobytes()
        size = self._block_bytes
        blocks = [stream[start : start + size] for start in range(0, len(stream) - size + 1, size)]
        self.is_lawful &= len(after.added) == len(blocks)
        for block, given in zip(blocks, after.added, strict=False):
            meaning = (number, block)
            self.is_lawful &= self._numbered.setdefault(meaning, given) == given
            self.is_lawful &= self._meant.setdefault(given, meaning) == meaning
            number = given
        self._ends[id(after)] = (number, stream[len(blocks) * size :])
        self._follow(place, after, blocks)
        return after

    def withstands(self) -> bool:
        """No guess made without the key is among the numbers, and with the key every digest would be found."""
        if self._first is None or not self._beginning:  # not even one block: nothing to guess
            return True
        digest = self._first.digest
        for block in self._beginning:
            digest = self._digest(digest + block)
            if digest not in self._numbers:
                return False
        published = set(self._numbers.values())
        return published.isdisjoint(guesses(self._namespace + self._models[0], self._beginning))

    def _root(self, model: str) -> Place:
        self._models = self._models or [model]
        return super()._root(model)

    def _follow(self, place: Place, after: Place, blocks: Sequence[bytes]) -> None:
        if self._first is None:
            self._first = self._followed = place
        if place is self._followed and len(self._beginning) < _GUESSED_BLOCKS:
            self._beginning.extend(blocks)
            self._followed = after


def guesses(root: str, blocks: Sequence[bytes]) -> Iterator[int]:
    """What an attacker would look for who knows the text and the method but no key: digests cut to 64 bits.

    `root` is what the chain starts from. Our own chain without a key, a SHA-256 chain, and a fast hash of the first
    block under every small seed.
    """
    chained = hashlib.blake2b(root.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    sha = b""
    for block in blocks:
        chained = hashlib.blake2b(chained + block, digest_size=16).digest()
        sha = hashlib.sha256(sha + block).digest()
        for digest in (chained, sha):
            yield int.from_bytes(digest[:8], "little")
            yield int.from_bytes(digest[:8], "big")
    for seed in range(_GUESSED_SEEDS):
        yield xxhash.xxh3_64_intdigest(blocks[0], seed)
