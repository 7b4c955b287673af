"""Request bodies of live plays, their prompts built before they are due.

Only prompts of requests that may be due soon are held, so memory follows what is in flight and never the sum of all
prompts. New blocks are encoded in slices with a pause between them: a cold prompt of a million tokens delays nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

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
_MOST_HELD_BYTES: Final = 256 << 20

type Prompt = list[tuple[Item, bytes]]


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
        self._contents: dict[int, tuple[PlayContent, list[SegmentList]]] = {}  # by play
        self._prompts: dict[tuple[int, int], Prompt] = {}
        self._sent: set[tuple[int, int]] = set()
        self._held_bytes = 0

    async def prepare(self, play: int, session: int, request: int) -> None:
        key = (play, request)
        if key in self._prompts or key in self._sent or self._held_bytes > _MOST_HELD_BYTES:
            return
        prompt = await self._build(play, session, request)
        if play in self._contents and key not in self._sent:  # either may have changed in the meantime
            self._prompts[key] = prompt
            self._held_bytes += _size(prompt)

    async def body(self, send: Send) -> bytes:
        """Pauses only when the prompt was not prepared and has new blocks."""
        key = (send.play, send.request.request)
        self._sent.add(key)
        prompt = self._prompts.pop(key, None)
        if prompt is None:
            prompt = await self._build(send.play, send.plan.session, send.request.request)
        else:
            self._held_bytes -= _size(prompt)
        extra = self._addressing.fields(send)
        return request_body(self._endpoint, self._settings.model, prompt, send.output_tokens, extra)

    def headers(self, send: Send) -> dict[str, str]:
        """Of this request alone."""
        return self._addressing.headers(send)

    def forget(self, play: int) -> None:
        """The play is over."""
        self._contents.pop(play, None)
        self._sent = {key for key in self._sent if key[0] != play}
        for key in [key for key in self._prompts if key[0] == play]:
            self._held_bytes -= _size(self._prompts.pop(key))

    async def _build(self, play: int, session: int, request: int) -> Prompt:
        content, segments = self._content(play, self._sessions[session])
        tokens = self._sessions[session].requests[request].input_tokens
        items = items_of(tokens, segments[request] if segments else (), self._framing.refused)
        await asyncio.sleep(0)  # a conversation of 800 items took 3 ms so far, and takes 5 now
        pieces = content.pieces(request, self._framing.spans(items))
        missing, once = content.missing(pieces), dict[Piece, bytes]()
        for start in range(0, len(missing), _SLICE_BLOCKS):
            once |= content.draw(missing[start : start + _SLICE_BLOCKS])
            await asyncio.sleep(0)
        return list(zip(items, content.join(pieces, once), strict=True))

    def _content(self, play: int, session: Session) -> tuple[PlayContent, list[SegmentList]]:
        if play not in self._contents:
            prompts = expand_blocks([request.blocks for request in session.requests])
            markers = self._markers.get(session.session)
            content = PlayContent(self._material, session, prompts, self._settings.seed, play, markers)
            segments = expand_segments(session.requests) if self._endpoint.form == "text" else []
            self._contents[play] = (content, segments)
        return self._contents[play]


def _size(prompt: Prompt) -> int:
    return sum(len(text) for _, text in prompt)
