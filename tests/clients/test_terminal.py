"""The driver of interactive clients works without them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.clients import terminal
from tests.clients.programs import empty_environment, left_running
from tests.clients.terminal import Terminal, squeezed

ASKS = r"""
import sys, termios, tty
tty.setraw(0)
print("\x1b[6n", end="", flush=True)
where = "".join(iter(lambda: sys.stdin.read(1), "R"))
termios.tcflush(0, termios.TCIFLUSH)
print("\x1b[1mready\x1b[0m", len(where), end="", flush=True)
line = ""
while (key := sys.stdin.read(1)) != "\r":
    line += key
    print(key, end="\x1b[1C", flush=True)
print("\x1b[2K\x1b]0;title\x07you\x1b[1Csaid", line.upper(), end="", flush=True)
while sys.stdin.read(1) != "\x1b": pass
print("closed", end="", flush=True)
"""


def start(program: str, home: Path) -> Terminal:
    return Terminal([sys.executable, "-c", program], home, empty_environment(home, "http://127.0.0.1:1"))


def test_a_client_is_answered_typed_to_and_left(tmp_path: Path) -> None:
    with start(ASKS, tmp_path) as one:
        one.wait_for("ready 5")
        one.type("fair words")
        one.wait_for("you said FAIR WORDS")
        one.close_view()
        one.wait_for("closed")
    assert left_running(tmp_path) == []


def test_what_is_never_drawn_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "LIMIT_S", 0.2)
    with (
        start("input('a question')", tmp_path) as one,
        pytest.raises(AssertionError, match="was not drawn, but: aquestion"),
    ):
        one.wait_for("an answer")


def test_a_client_that_ended_is_not_waited_for(tmp_path: Path) -> None:
    with (
        start("print('good bye')", tmp_path) as one,
        pytest.raises(AssertionError, match="was not drawn, but: goodbye"),
    ):
        one.wait_for("welcome")


def test_its_exit_code_and_all_it_drew_come_back(tmp_path: Path) -> None:
    with start("print(input('so? ').upper()); raise SystemExit(3)", tmp_path) as one:
        one.wait_for("so?")
        done = one.leave("enough")
    assert done.code == 3
    assert "so?" in done.out
    assert "ENOUGH" in squeezed(done.out)
