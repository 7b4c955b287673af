"""The heads of a session's prompts, tools and system prompt, under names that other sessions would give them too.

Block numbers are a session's own, so a harness whose tools and system prompt many people send alike is new in every
session of a corpus, where a real cache would have served it. To share it when a corpus is published (`anonymize.
sharing`), a build must notice that two heads are equal. So each block that lies wholly in a head gets a second chained
digest, under a key that all sessions of one build have in common, and so does the contributor's name. Both are in the
build's own pieces only: merged, digests become small numbers (`anonymize.contributions`), and key and pieces go.

A session without a contributor has no such marks: nobody can say whether it is one more person's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from anonymize.digests import BlockChains, Place
from anonymize.tokens import Tokens
from corpus.exchange import Exchange
from corpus.session import Role

HEAD_ROLES: Final[frozenset[Role]] = frozenset({"tools", "system"})
_DIGEST_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Head:
    """One session's: who sent it, and what its blocks of tools and system prompts are called; keyed digests, in hex."""

    contributor: str
    blocks: dict[int, str]  # block number -> digest of the prefix that ends with it


class HeadChains(BlockChains):
    """Block chains that also mark the blocks of heads under a common key."""

    def __init__(self, key: bytes, tokenizer_sha256: str, block_size: int, common_key: bytes) -> None:
        super().__init__(key, tokenizer_sha256, block_size)
        self.marks: Final[dict[int, str]] = {}
        self._common_key = common_key
        self._ends: dict[int, bytes] = {}  # by identity of a place that ends a head so far

    def grow(self, place: Place, handle: int, role: Role, tokens: Tokens) -> Place:
        after = super().grow(place, handle, role, tokens)
        digest = self._ends.get(id(place))
        if digest is None or role not in HEAD_ROLES:
            return after
        data, size = place.tail + tokens.astype("<u4", copy=False).tobytes(), self._block_bytes
        for number, start in zip(after.added, range(0, len(data), size), strict=False):
            digest = _digest(digest + data[start : start + size], self._common_key)
            self.marks[number] = digest.hex()
        self._ends[id(after)] = digest
        return after

    def _root(self, model: str) -> Place:
        root = super()._root(model)
        if id(root) not in self._ends:
            text = (self._namespace + model).encode("utf-8", "surrogatepass")
            self._ends[id(root)] = _digest(text, self._common_key)
        return root


class Contributor:
    """Listens to a session's exchanges as they pass: whose tokens they came with."""

    def __init__(self) -> None:
        self.name: str | None = None
        """Of the first that had one; a session of several people counts for one of them."""

    def heard(self, exchanges: Iterable[Exchange]) -> Iterator[Exchange]:
        for one in exchanges:
            self.name = self.name or one.request.contributor
            yield one


class MarkingChains:
    """Makes the chains of one session, to be given to `anonymize_session`, and tells afterwards what they marked."""

    def __init__(self, common_key: bytes) -> None:
        self._common_key = common_key
        self._marks: dict[int, str] = {}

    def __call__(self, key: bytes, tokenizer_sha256: str, block_size: int) -> BlockChains:
        made = HeadChains(key, tokenizer_sha256, block_size, self._common_key)
        self._marks = made.marks
        return made

    def head(self, contributor: Contributor) -> Head | None:
        """None where nobody knows who sent the session."""
        if contributor.name is None:
            return None
        name = contributor.name.encode("utf-8", "surrogatepass")
        return Head(_digest(name, self._common_key).hex(), self._marks)


def _digest(data: bytes, key: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST_BYTES, key=key, person=b"heads").digest()
