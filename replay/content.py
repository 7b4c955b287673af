"""Prompt content: every block id becomes tokens nobody wrote, the same in every run with the same seed.

Tokens of a block depend on (seed, session, block id); the first block of a prompt and the tail also depend on the play,
so plays share no cache while requests of one play share exactly what they shared when recorded, and no token is added
for it. What is sent as several texts is cut where a text begins: a block across a cut is drawn anew on each side, so
that every text begins and ends where the tokenizer cuts anyway.

Drawn pieces are cached, those that all plays of a session share once for all of them: building a prompt costs new work
for new blocks only, and a join for the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpus.session import Session
from replay.content_pool import MOST_TOKENS, Form, Pool
from replay.plan import whole_blocks


class Span(NamedTuple):
    """Tokens of a prompt that go out as one text; `flat`: without what JSON escapes."""

    start: int
    stop: int
    flat: bool = False


class Part(NamedTuple):
    """Tokens `first` up to `first + tokens` of a block or tail that is not drawn as a whole."""

    place: str
    first: int
    tokens: int
    flat: bool
    of: Literal["session", "play", "request"]  # whose it is: drawn once for all of it


type Piece = int | Part  # a block that is whole and not the first of its prompt: its id


class Material:
    """A pool in the form it is sent: bytes for every atom, and what goes between two of them."""

    def __init__(self, pool: Pool, form: Form) -> None:
        self.pool = pool
        self.form = form
        texts, self.between = pool.pieces(form)
        self._texts = np.array(texts, dtype=object)

    def write(self, keys: Sequence[str], counts: Sequence[int], *, flat: bool) -> list[bytes]:
        """As many tokens a key as are counted for it."""
        rows = self._texts[self.pool.draw(keys, counts, flat=flat)].tolist()
        return [self.between.join(row[:count]) for row, count in zip(rows, counts, strict=True)]


class PlayContent:
    """Prompts of one play. `prompts` are the block lists of the session's requests, by request number.

    `markers`: which block of a request's prompt is the first of this play alone, where it is not the first of all.
    `shared`: what plays of the session share, filled by whoever needs it first.
    """

    def __init__(
        self,
        material: Material,
        session: Session,
        prompts: Sequence[NDArray[np.int64]],
        seed: int,
        play: int,
        markers: Mapping[int, int] | None = None,
        shared: dict[Piece, bytes] | None = None,
    ) -> None:
        self._markers = markers or {}
        self._material = material
        self._key = f"{seed}:{session.session}"
        self._play = play
        self._requests = session.requests
        self._prompts = prompts
        self._block_size = session.block_size
        self._shared: dict[Piece, bytes] = {} if shared is None else shared
        self._own: dict[Piece, bytes] = {}

    def pieces(self, request: int, spans: Sequence[Span]) -> list[list[Piece]]:
        """What each span is joined from; spans lie within the prompt and may overlap."""
        tokens, listed = self._requests[request].input_tokens, self._prompts[request]
        blocks: list[int] = listed[: whole_blocks(tokens, len(listed), self._block_size)].tolist()
        return [self._cut(request, blocks, span) for span in spans]

    def missing(self, pieces: Iterable[Iterable[Piece]]) -> list[Piece]:
        """Those that are not drawn yet, each once."""
        needed = dict.fromkeys(piece for span in pieces for piece in span if piece not in self._shared)
        return [piece for piece in needed if piece not in self._own]

    def draw(self, pieces: Sequence[Piece]) -> dict[Piece, bytes]:
        """Puts them into the caches; returns those of one request, which are not kept."""
        return draw_together(self._material, [(self, pieces)])[0]

    def join(self, pieces: Sequence[Sequence[Piece]], once: Mapping[Piece, bytes]) -> list[bytes]:
        """One text a span, of pieces that are all in the caches or `once`."""
        known, own = self._shared, {**self._own, **once}
        return [
            self._material.between.join([known[piece] if piece in known else own[piece] for piece in span])
            for span in pieces
        ]

    def texts(self, request: int, spans: Sequence[Span]) -> list[bytes]:
        pieces = self.pieces(request, spans)
        return self.join(pieces, self.draw(self.missing(pieces)))

    def prompt(self, request: int) -> bytes:
        """The whole prompt as one text, `input_tokens` tokens long."""
        return self.texts(request, [Span(0, self._requests[request].input_tokens)])[0]

    def keep(self, pieces: Sequence[Piece], drawn: Mapping[tuple[str, Part], bytes]) -> dict[Piece, bytes]:
        between, once = self._material.between, dict[Piece, bytes]()
        for piece in pieces:
            of = "session" if isinstance(piece, int) else piece.of
            into = self._shared if of == "session" else self._own if of == "play" else once
            parts = [drawn[part] for part in self.split(piece)]
            into[piece] = parts[0] if len(parts) == 1 else between.join(parts)
        return once

    def _cut(self, request: int, blocks: list[int], span: Span) -> list[Piece]:
        size, whole = self._block_size, len(blocks) * self._block_size
        inside = min(span.stop, whole)
        last = -(-inside // size)
        low = last if span.flat else min(last, max(1, -(-span.start // size)))
        high = max(low, inside // size)
        marker = self._markers.get(request, 0)

        def parts(start: int, stop: int) -> list[Piece]:
            return [self._part(blocks, number, span, inside, marker) for number in range(start, stop)]

        pieces = [*parts(span.start // size, low), *blocks[low:high], *parts(high, last)]
        if low <= marker < high:
            pieces[marker - span.start // size : marker - span.start // size + 1] = parts(marker, marker + 1)
        if span.stop > whole:
            first = max(span.start, whole) - whole
            place = f"tail {request}:play {self._play}"
            pieces.append(Part(place, first, span.stop - whole - first, span.flat, "request"))
        return pieces

    def _part(self, blocks: list[int], number: int, span: Span, inside: int, marker: int) -> Part:
        """What of block `number` lies in the span."""
        at = number * self._block_size
        first = max(0, span.start - at)
        count = min(self._block_size, inside - at) - first
        if number == marker:
            return Part(f"{blocks[number]}:play {self._play}", first, count, span.flat, "play")
        return Part(str(blocks[number]), first, count, span.flat, "session")

    def split(self, piece: Piece) -> list[tuple[str, Part]]:
        """Parts of no more tokens than one draw has, each with whose it is."""
        part = Part(str(piece), 0, self._block_size, flat=False, of="session") if isinstance(piece, int) else piece
        if part.tokens <= MOST_TOKENS:
            return [(self._key, part)]
        return [
            (self._key, part._replace(first=part.first + done, tokens=min(MOST_TOKENS, part.tokens - done)))
            for done in range(0, part.tokens, MOST_TOKENS)
        ]


def draw_together(
    material: Material, wanted: Sequence[tuple[PlayContent, Sequence[Piece]]]
) -> list[dict[Piece, bytes]]:
    """As `PlayContent.draw` of each, in one go: ten pieces take hardly longer than one."""
    parts = dict.fromkeys(part for content, pieces in wanted for piece in pieces for part in content.split(piece))
    drawn: dict[tuple[str, Part], bytes] = {}
    for flat in (False, True):
        group = [(key, part) for key, part in parts if part.flat == flat]
        if group:
            keys = [f"{key}:{part.place}:{part.first}" for key, part in group]
            counts = [part.tokens for _, part in group]
            drawn.update(zip(group, material.write(keys, counts, flat=flat), strict=True))
    return [content.keep(pieces, drawn) for content, pieces in wanted]
