"""Request bodies of live plays, their prompts built before they are due.

Only prompts of requests that may be due soon are held, so memory follows what is in flight and never the sum of all
prompts; what plays of a session share is held once, while one of them lives. A long prompt is put together in steps
with pauses between them: a cold prompt of a million tokens delays nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from corpus.blocks import SegmentList, expand_blocks, expand_segments
from corpus.session import Session
from replay.addressing import Addressing
from replay.commands import Send
from replay.content import Material, Piece, PlayContent
from replay.endpoints import Endpoint, request_body
from replay.framing import NO_FRAMING, Framing
from replay.items import Item, items_of
from replay.settings import ReplaySettings, engine_in

_SLICE_BLOCKS: Final = 64  # 1 ms
_SHORT_TOKENS: Final = 8192  # a prompt that needs no pauses: 2 ms when all of it is new
_MOST_HELD_BYTES: Final = 256 << 20

type Prompt = list[tuple[Item, bytes]]


@dataclass(slots=True, weakref_slot=True)
class _Shared:
    """Of a session: block lists and segments by request, and pieces of content that all plays have."""

    prompts: Sequence[NDArray[np.int64]]
    segments: list[SegmentList]
    pieces: dict[Piece, bytes] = field(default_factory=dict)


@dataclass(slots=True)
class _Held:
    """Of a play: its content, and by request the prompts that are ready and those that are not needed any more."""

    shared: _Shared
    content: PlayContent
    ready: dict[int, Prompt] = field(default_factory=dict)
    sent: set[int] = field(default_factory=set)


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

    async def prepare(self, play: int, session: int, request: int) -> None:
        held = self._hold(play, session)
        if request in held.ready or request in held.sent or self._held_bytes > _MOST_HELD_BYTES:
            return
        prompt = await self._build(held, session, request)
        if self._held.get(play) is held and request not in held.sent:  # either may have changed in the meantime
            held.ready[request] = prompt
            self._held_bytes += _size(prompt)

    async def body(self, send: Send) -> bytes:
        """Pauses only for a long prompt that was not prepared."""
        session, request = send.plan.session, send.request.request
        held = self._hold(send.play, session)
        held.sent.add(request)
        prompt = held.ready.pop(request, None)
        if prompt is None:
            prompt = await self._build(held, session, request)
        else:
            self._held_bytes -= _size(prompt)
        extra = self._addressing.fields(send)
        return request_body(self._endpoint, self._settings.model, prompt, send.output_tokens, extra)

    def headers(self, send: Send) -> dict[str, str]:
        """Of this request alone."""
        return self._addressing.headers(send)

    def forget(self, play: int) -> None:
        """The play is over."""
        if held := self._held.pop(play, None):
            self._held_bytes -= sum(_size(prompt) for prompt in held.ready.values())

    async def _build(self, held: _Held, session: int, request: int) -> Prompt:
        segments, content = held.shared.segments, held.content
        tokens = self._sessions[session].requests[request].input_tokens
        is_long = tokens > _SHORT_TOKENS
        items = items_of(tokens, segments[request] if segments else (), self._framing.manners)
        if is_long:
            await asyncio.sleep(0)  # a conversation of 800 items took 3 ms so far, and takes 5 now
        pieces = content.pieces(request, self._framing.spans(items))
        missing, once = content.missing(pieces), dict[Piece, bytes]()
        for start in range(0, len(missing), _SLICE_BLOCKS):
            once |= content.draw(missing[start : start + _SLICE_BLOCKS])
            if is_long:
                await asyncio.sleep(0)
        return list(zip(items, content.join(pieces, once), strict=True))

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


def _size(prompt: Prompt) -> int:
    return sum(len(text) for _, text in prompt)
