"""Server-sent events, split and written by the rules of the HTML standard.

Lines end with CR, LF or CRLF; a byte order mark may come first; a line that starts with a colon is a comment; several
data lines of one event are joined by LF; an event that no blank line ended is dropped. `id` and `retry` lines are
read over: no provider uses them. Feeding the same bytes in any cuts gives the same events, in linear time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_BOM: Final = b"\xef\xbb\xbf"
_LINE_END: Final = re.compile(rb"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class SseEvent:
    event: str  # "message" when the stream named none
    data: bytes


class SseSplitter:
    """Give it bytes as they come; it gives back the events they completed."""

    def __init__(self) -> None:
        self._line: list[bytes] = []  # pieces of the line not ended yet
        self._after_cr = False  # an LF that comes next belongs to the CR before it
        self._at_start = True
        self._event = ""
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> list[SseEvent]:
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]
            self._after_cr = False
        if not data:
            return []
        self._after_cr = data.endswith(b"\r")
        events: list[SseEvent] = []
        lines = data.splitlines()  # of bytes: at CR, LF and CRLF only
        unended = None if data.endswith((b"\r", b"\n")) else lines.pop()
        for line in lines:
            self._line.append(line)
            self._end_line(events)
        if unended is not None:
            self._line.append(unended)
        return events

    def feed_data(self, data: bytes) -> list[bytes]:
        """The data of what `feed` gives; reads of whole events of one data line, as most are, take a short way."""
        if not (self._after_cr or self._line or self._data or self._event) and data.startswith(b"data: "):
            found = data[6:-2].split(b"\n\ndata: ")
            if data.endswith(b"\n\n") and data.count(b"\n") == 2 * len(found) and b"\r" not in data:
                self._at_start = False
                return found
        return [event.data for event in self.feed(data)]

    def finish(self) -> list[SseEvent]:
        """The stream ended: whatever no blank line closed is dropped, so this is always empty."""
        self._line.clear()
        self._data = []
        self._event = ""
        return []

    def _end_line(self, events: list[SseEvent]) -> None:
        line = b"".join(self._line)
        self._line.clear()
        if self._at_start:
            line = line.removeprefix(_BOM)
            self._at_start = False
        if line:
            self._read_field(line)
            return
        if self._data:
            events.append(SseEvent(self._event or "message", b"\n".join(self._data)))
        self._event = ""
        self._data = []

    def _read_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value.decode(errors="replace")


def split_sse(data: bytes) -> list[SseEvent]:
    """All events of a whole stream."""
    return SseSplitter().feed(data)


def format_sse(event: str | None, data: bytes) -> bytes:
    """One event as bytes; line ends inside `data` come out as LF on the other side."""
    if event is not None and ("\n" in event or "\r" in event):
        raise ValueError("an event name is one line")
    head = b"" if event is None else b"event: " + event.encode() + b"\n"
    return head + b"".join(b"data: " + line + b"\n" for line in _LINE_END.split(data)) + b"\n"
