"""What of a streamed answer may go the short way: whole chunks, as they came, past mitmproxy's layers (`proxy.tap`).

A piece of a stream passes through a dozen generators of mitmproxy's, which cost more than all the rest of it. A piece
of nothing but whole chunks, come while mitmproxy's parser stands between two chunks, would leave that parser as it was:
so it need not see it. An answer's first piece and its last always go the long way, and so does whatever is not plainly
a whole chunk: a part of one, an extension, a malformed size, trailers.

What is used of mitmproxy's and h11's internals is in `Relay` and `_is_between_chunks`, and tested against the pinned
version range.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from h11._readers import ChunkedReader
from mitmproxy.proxy.layers.http._http1 import Http1Client

_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,8})\r\n")


def split_chunks(data: bytes) -> tuple[int, bytes]:
    """Where the whole chunks at the start of `data` end, and what they hold; an empty chunk (the last) is not taken."""
    end = 0
    pieces = []
    while size := _SIZE.match(data, end):
        begin = size.end()
        after = begin + int(size[1], 16)
        if after == begin or data[after : after + 2] != b"\r\n":
            break
        pieces.append(data[begin:after])
        end = after + 2
    return end, pieces[0] if len(pieces) == 1 else b"".join(pieces)


class Relay:
    """Of one answer. `hear` is given what the chunks of one read hold; it must not raise."""

    def __init__(self, parser: Http1Client, hear: Callable[[bytes], object]) -> None:
        self._parser = parser
        self._answer = parser.response
        self._hear = hear

    @property
    def over(self) -> bool:
        """Whether the answer has come to its end: what the server says next is not of it."""
        return self._parser.response is not self._answer

    def take(self, data: bytes) -> int:
        """How many of these bytes of the server's go to the client as they are."""
        if self.over or self._parser.buf or not _is_between_chunks(self._parser.body_reader):
            return 0
        end, content = split_chunks(data)
        if end:
            self._hear(content)
        return end


def _is_between_chunks(reader: object) -> bool:
    return isinstance(reader, ChunkedReader) and not (
        reader._bytes_in_chunk or reader._bytes_to_discard or reader._reading_trailer  # noqa: SLF001 - told nowhere else
    )
