"""What a streamed answer says, folded from its network reads; pure, so every ending is testable without a socket.

The first token's time is the arrival of the read that carried the first chunk with generated tokens. A read may carry
several chunks, and they all arrived then. Reads are only put aside as they come, and looked into some kilobytes at a
time: what has to happen at each of a thousand small reads is a list entry.
"""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from corpus.run import ErrorClass
from replay.endpoints import Endpoint
from replay.engines import error_class, error_message
from wire.sse import SseSplitter
from wire.usage import Usage, normalise_usage

_TEXT: Final = re.compile(rb'"(?:content|text|delta)":"((?:[^"\\]|\\.)+)"')
_DONE: Final = b"[DONE]"
_STREAM: Final = (b"data", b"event", b"id", b"retry", b":", b"\xef\xbb\xbf")  # how a stream of events begins
_FOLD_BYTES: Final = 1 << 14  # about a hundred chunks, 0.3 ms


class StreamedAnswer:
    """Feed every read, then `finish`; afterwards the attributes hold what was seen."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._usage: dict[str, Any] = {}
        self._splitter = SseSplitter()
        self._reads: list[bytes] = []  # not looked into yet
        self._read_us: list[int] = []
        self._waiting = 0  # bytes of them
        self._frame = (b"", b"")  # what stands before and behind the text of a chunk
        self._opening = b""
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
        if not self._opening:
            self._opening = b"".join(self._reads).lstrip()[:16]
        for data, at_us in zip(self._reads, self._read_us, strict=True):
            head, tail = self._frame
            for event in self._splitter.feed_data(data):
                # The same as the last chunk but for its text: most are, and need no parsing.
                if head and len(event) > len(head) + len(tail) and event.startswith(head) and event.endswith(tail):
                    self.last_token_us = at_us
                    continue
                self._read(event, at_us)
                head, tail = self._frame
        self._reads.clear()
        self._read_us.clear()
        self._waiting = 0

    def finish(self) -> None:
        """The body is over; an answer that never said so itself is truncated."""
        self.look()
        if self._opening and not self._opening.startswith(_STREAM):
            self.error, self.detail = "bad_stream", "the answer is no stream of events"
        elif not self._ended and self.error is None:
            self.error, self.detail = "truncated", "the stream ended without a finish reason"

    def _read(self, event: bytes, at_us: int) -> None:
        if event == _DONE:
            self._ended = True
            return
        try:
            chunk = orjson.loads(event)
        except orjson.JSONDecodeError:
            chunk = None
        if isinstance(chunk, dict):
            self._read_chunk(chunk, event, at_us)
        else:
            self.error, self.detail = "bad_stream", "a chunk is no JSON object"

    def _read_chunk(self, chunk: dict[str, Any], event: bytes, at_us: int) -> None:
        if error := chunk.get("error"):
            self._fail(error)
            return
        try:
            said = self._endpoint.read(chunk)
        except (AttributeError, KeyError, TypeError):
            self.error, self.detail = "bad_stream", "a chunk is not laid out as its API has it"
            return
        if said.token:
            self.last_token_us = at_us
            if self.first_token_us is None:
                self.first_token_us = at_us
            if not (said.ends or said.usage or said.error) and (text := _TEXT.search(event)):
                self._frame = (event[: text.start(1)], event[text.end(1) :])
        if said.ends:
            self._ended = True
        if said.usage:
            self._usage |= {name: value for name, value in said.usage.items() if value is not None}
            self.usage = normalise_usage(self._endpoint.usage, self._usage)
        if said.error:
            self._fail(said.error)

    def _fail(self, error: object) -> None:
        self.detail = error_message(orjson.dumps({"error": error}))
        code = error.get("code") if isinstance(error, dict) else None
        told = error_class(code if isinstance(code, int) else 400, self.detail)
        self.error = "bad_stream" if told == "http_4xx" else told
