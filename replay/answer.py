"""What a streamed answer says, folded from its network reads; pure, so every ending is testable without a socket.

The first token's time is the arrival of the read that carried the first chunk with generated tokens. A read may carry
several chunks, and they all arrived then. Reads are only put aside as they come, and looked into some kilobytes at a
time: what has to happen at each of a thousand small reads is a list entry.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from corpus.run import ErrorClass
from replay.endpoints import Endpoint
from replay.engines import error_class, error_message
from wire.sse import SseSplitter
from wire.usage import Usage, normalise_usage

_FOLD_BYTES: Final = 1 << 14  # about a hundred chunks, 0.3 ms


class StreamedAnswer:
    """Feed every read, then `finish`; afterwards the attributes hold what was seen."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._splitter = SseSplitter()
        self._reads: list[bytes] = []  # not looked into yet
        self._read_us: list[int] = []
        self._waiting = 0  # bytes of them
        self._ended = False  # a finish reason or the closing mark was seen
        self.first_token_us: int | None = None
        self.last_token_us: int | None = None
        self.usage: Usage | None = None
        self.error: ErrorClass | None = None
        self.detail = ""

    def feed(self, data: bytes, at_us: int) -> None:
        self._reads.append(data)
        self._read_us.append(at_us)
        self._waiting += len(data)
        if self._waiting > _FOLD_BYTES:
            self.look()

    def look(self) -> None:
        """Everything that was fed is in the attributes now."""
        for data, at_us in zip(self._reads, self._read_us, strict=True):
            for event in self._splitter.feed_data(data):
                self._read(event, at_us)
        self._reads.clear()
        self._read_us.clear()
        self._waiting = 0

    def finish(self) -> None:
        """The body is over; an answer that never said so itself is truncated."""
        self.look()
        if not self._ended and self.error is None:
            self.error, self.detail = "truncated", "the stream ended without a finish reason"

    def _read(self, data: bytes, at_us: int) -> None:
        if data == b"[DONE]":
            self._ended = True
            return
        try:
            chunk = orjson.loads(data)
        except orjson.JSONDecodeError:
            chunk = None
        if not isinstance(chunk, dict):
            self.error, self.detail = "bad_stream", "a chunk is no JSON object"
        elif chunk.get("error"):
            self._fail(data, chunk["error"])
        else:
            self._read_chunk(chunk, at_us)

    def _fail(self, data: bytes, error: object) -> None:
        self.detail = error_message(data)
        code = error.get("code") if isinstance(error, dict) else None
        told = error_class(code if isinstance(code, int) else 400, self.detail)
        self.error = "bad_stream" if told == "http_4xx" else told

    def _read_chunk(self, chunk: dict[str, Any], at_us: int) -> None:
        for choice in chunk.get("choices") or ():
            if not isinstance(choice, dict):
                self.error, self.detail = "bad_stream", "a choice is no JSON object"
                return
            self._ended = self._ended or choice.get("finish_reason") is not None
            if self._endpoint.has_token(choice):
                self.last_token_us = at_us
                if self.first_token_us is None:
                    self.first_token_us = at_us
        if chunk.get("usage"):
            self.usage = normalise_usage("openai-chat", chunk["usage"])
