"""Request bodies of live plays, their prompts built before they are due.

Only prompts of requests that may be due soon are held, so memory follows what is in flight and never the sum of all
prompts; what plays of a session share is held once, while one of them lives. A long prompt is put together in steps
with pauses between them, a cold prompt of a million tokens delays nobody; short ones are drawn together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from corpus.blocks import SegmentList, expand_blocks, expand_segments
from corpus.session import Session
from replay.addressing import Addressing
from replay.commands import Send
from replay.content import Material, Piece, PlayContent, draw_together
from replay.endpoints import Endpoint, request_body
from replay.framing import NO_FRAMING, Framing
from replay.items import Item, items_of
from replay.settings import ReplaySettings, engine_in
from replay.turns import Turns

_SLICE_BLOCKS: Final = 64  # 1 ms
_SHORT_TOKENS: Final = 4096  # a prompt that needs no pauses
_MOST_HELD_BYTES: Final = 256 << 20

type Upcoming = tuple[int, int, int]  # play, session, request


@dataclass(slots=True, weakref_slot=True)
class _Shared:
    """Of a session: block lists and segments by request, and pieces of content that all plays have."""

    prompts: Sequence[NDArray[np.int64]]
    segments: list[SegmentList]
    pieces: dict[Piece, bytes] = field(default_factory=dict)


@dataclass(slots=True)
class _Held:
    """Of a play: its content, and by request the prompts as they go out and those that are not needed any more."""

    shared: _Shared
    content: PlayContent
    ready: dict[int, bytes] = field(default_factory=dict)
    sent: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Draft:
    """Of a prompt: its items, the pieces each is joined from, and those that are not drawn yet."""

    play: int
    held: _Held
    request: int
    items: tuple[Item, ...]
    pieces: list[list[Piece]]
    missing: list[Piece]

    def prompt(self, once: Mapping[Piece, bytes], endpoint: Endpoint) -> bytes:
        """As the endpoint lays it out. `once`: what `draw` gave back."""
        return endpoint.lay_out(list(zip(self.items, self.held.content.join(self.pieces, once), strict=True)))


class Bodies:
    def __init__(
        self,
        sessions: Mapping[int, Session],
        material: Material,
        endpoint: Endpoint,
        settings: ReplaySettings,
        framing: Framing = NO_FRAMING,
        markers: Mapping[int, Mapping[int, int]] | None = None,
    ) -> None:
        """`markers`: by session and request, see `PlayContent`."""
        self._sessions = sessions
        self._markers = markers or {}
        self._material = material
        self._framing = framing
        self._endpoint = endpoint
        self._settings = settings
        self._addressing = Addressing(
            engine_in(settings),
            endpoint.name,
            sessions,
            seed=settings.seed,
            hints=settings.hints,
            ranks=settings.dp_ranks,
            extra=settings.extra_body,
        )
        self._shared: WeakValueDictionary[int, _Shared] = WeakValueDictionary()  # by session, while a play holds it
        self._held: dict[int, _Held] = {}  # by play
        self._held_bytes = 0
        self._turns = Turns()  # at putting long prompts together

    async def prepare(self, upcoming: Iterable[Upcoming]) -> None:
        """Their prompts, in this order; what is sent or forgotten in the meantime is left out."""
        drafts: list[_Draft] = []
        for play, session, request in upcoming:
            held = self._hold(play, session)
            if request in held.ready or request in held.sent or self._held_bytes > _MOST_HELD_BYTES:
                continue
            if self._is_long(session, request):
                self._keep(play, held, request, await self._build(play, held, session, request, ahead=True))
                continue
            drafts.append(self._draft(play, held, request, self._items(held, session, request)))
            if sum(len(draft.missing) for draft in drafts) >= _SLICE_BLOCKS:
                self._finish(drafts)
                drafts.clear()
                await asyncio.sleep(0)
        self._finish(drafts)

    async def body(self, send: Send) -> bytes:
        """Pauses only for a long prompt that was not prepared."""
        session, request = send.plan.session, send.request.request
        held = self._hold(send.play, session)
        held.sent.add(request)
        prompt = held.ready.pop(request, None)
        if prompt is None:
            prompt = await self._build(send.play, held, session, request, ahead=False)
        else:
            self._held_bytes -= len(prompt)
        extra = self._addressing.fields(send)
        return request_body(self._endpoint, self._settings.model, prompt, send.output_tokens, extra)

    def headers(self, send: Send) -> dict[str, str]:
        """Of this request alone."""
        return self._addressing.headers(send)

    def forget(self, play: int) -> None:
        """The play is over."""
        if held := self._held.pop(play, None):
            self._held_bytes -= sum(map(len, held.ready.values()))

    def _keep(self, play: int, held: _Held, request: int, prompt: bytes) -> None:
        wanted = request not in held.sent and request not in held.ready
        if wanted and self._held.get(play) is held:  # either may have changed in the meantime
            held.ready[request] = prompt
            self._held_bytes += len(prompt)

    def _is_long(self, session: int, request: int) -> bool:
        return self._sessions[session].requests[request].input_tokens > _SHORT_TOKENS

    def _items(self, held: _Held, session: int, request: int) -> tuple[Item, ...]:
        tokens, segments = self._sessions[session].requests[request].input_tokens, held.shared.segments
        return items_of(tokens, segments[request] if segments else (), self._framing.manners)

    def _draft(self, play: int, held: _Held, request: int, items: tuple[Item, ...]) -> _Draft:
        pieces = held.content.pieces(request, self._framing.spans(items))
        return _Draft(play, held, request, items, pieces, held.content.missing(pieces))

    def _finish(self, drafts: Sequence[_Draft]) -> None:
        drawn = draw_together(self._material, [(draft.held.content, draft.missing) for draft in drafts])
        for draft, once in zip(drafts, drawn, strict=True):
            self._keep(draft.play, draft.held, draft.request, draft.prompt(once, self._endpoint))

    async def _build(self, play: int, held: _Held, session: int, request: int, *, ahead: bool) -> bytes:
        items, is_long = self._items(held, session, request), self._is_long(session, request)
        if is_long:  # a conversation of 800 items took 3 ms so far, and takes 5 now
            await self._turns.wait(len(held.shared.prompts[request]), ahead=ahead)
        draft, once = self._draft(play, held, request, items), dict[Piece, bytes]()
        for start in range(0, len(draft.missing), _SLICE_BLOCKS):
            if is_long:
                await self._turns.wait(len(draft.missing) - start, ahead=ahead)
            once |= held.content.draw(draft.missing[start : start + _SLICE_BLOCKS])
        return draft.prompt(once, self._endpoint)

    def _hold(self, play: int, number: int) -> _Held:
        held = self._held.get(play)
        if held is None:
            session, shared = self._sessions[number], self._share(number)
            content = PlayContent(
                self._material,
                session,
                shared.prompts,
                self._settings.seed,
                play,
                self._markers.get(number),
                shared.pieces,
            )
            held = self._held[play] = _Held(shared, content)
        return held

    def _share(self, number: int) -> _Shared:
        shared = self._shared.get(number)
        if shared is None:
            requests = self._sessions[number].requests
            segments = expand_segments(requests) if self._endpoint.form == "text" else []
            shared = self._shared[number] = _Shared(expand_blocks([one.blocks for one in requests]), segments)
        return shared
