"""A person at a terminal: types into a client that wants one, and waits for what it draws.

A pseudo-terminal without a screen. What is drawn is compared without white space and control sequences, for a client
moves its cursor over a gap instead of writing it. It does so, too, where a character stands already: wait for words
that take the place of nothing. A client waits for input when it has drawn nothing for a while: one at work keeps
something moving.
"""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import termios
import threading
from pathlib import Path
from typing import Final, Self

from tests.clients.programs import Finished, kill_group

LIMIT_S = 60  # for anything that is waited for
QUIET_S = 0.6

_ECHO: Final = 16  # characters of a line's end
_ROWS, _COLUMNS = 50, 200  # wide enough for what is waited for
# Questions that clients put to the terminal before they go on, and what a plain one says.
_REPLIES: Final = (
    (b"\x1b[c", b"\x1b[?62;c"),  # what it can do
    (b"\x1b[6n", b"\x1b[1;1R"),  # where the cursor is
    (b"\x1b[?u", b"\x1b[?0u"),  # how keys are reported
    (b"\x1b]10;?", b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\"),  # colours
    (b"\x1b]11;?", b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
)
_CONTROL: Final = re.compile(rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1bP[^\x1b]*\x1b\\|\x1b\[[0-?]*[ -/]*[@-~]|\x1b.")


def squeezed(text: str) -> str:
    return "".join(text.split())


class Terminal:
    """Use as a context; whatever happens in it, the client does not outlive it."""

    def __init__(self, command: list[str], cwd: Path, environment: dict[str, str]) -> None:
        self._ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        self._client = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment | {"TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self._drawn = bytearray()
        self._looked_at = 0  # what was drawn before was waited for
        self._open = True
        self._news = threading.Condition()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        kill_group(self._client.pid)
        self._client.wait()
        self._watcher.join()
        os.close(self._ours)

    def wait_for(self, text: str) -> None:
        """Until it was drawn since the last thing that was waited for, and the client is quiet."""
        self._wait_until_drawn(text, self._looked_at)
        self._looked_at = len(self._drawn)

    def type(self, line: str) -> None:
        """Enter comes when the line is drawn: keys that come faster are taken for a paste, Enter and all."""
        begin = len(self._drawn)
        os.write(self._ours, line.encode())
        self._wait_until_drawn(line[-_ECHO:], begin)
        os.write(self._ours, b"\r")

    def close_view(self) -> None:
        """Escape, which is a key of its own only when no other follows at once."""
        os.write(self._ours, b"\x1b")
        self._wait_until_drawn("", len(self._drawn))

    def leave(self, line: str) -> Finished:
        """What it came to after a command that ends it."""
        self.type(line)
        code = self._client.wait(LIMIT_S)
        self._watcher.join(LIMIT_S)
        return Finished(code, _plain(self._drawn), "")

    def _wait_until_drawn(self, text: str, begin: int) -> None:
        with self._news:
            self._news.wait_for(lambda: not self._open or squeezed(text) in self._drawn_since(begin), LIMIT_S)
            seen = self._drawn_since(begin)
            assert squeezed(text) in seen, f"{text!r} was not drawn, but: {seen[-1000:]}"
            while self._news.wait(QUIET_S):
                pass  # something was drawn

    def _drawn_since(self, begin: int) -> str:
        return squeezed(_plain(self._drawn[begin:]))

    def _watch(self) -> None:
        while drawn := self._read():
            with self._news:
                self._drawn += drawn
                self._news.notify_all()
            for question, reply in _REPLIES:
                if question in drawn:
                    os.write(self._ours, reply)
        with self._news:
            self._open = False
            self._news.notify_all()

    def _read(self) -> bytes:
        try:
            return os.read(self._ours, 65536)
        except OSError:  # nobody has the other end any more
            return b""


def _plain(drawn: bytes | bytearray) -> str:
    """Control sequences left out."""
    return _CONTROL.sub(b"", bytes(drawn)).decode(errors="replace")
