from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import agentreel.commands.stats as stats_command
from agentreel import __version__

Call = Callable[..., Any]


def test_version_is_said_without_importing_anything_heavy() -> None:
    code = "import sys; from agentreel.__main__ import main; main(['--version']); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    version, modules = done.stdout.splitlines()
    assert version == f"agentreel {__version__}"
    assert "'click'" not in modules


def test_a_bad_input_is_one_line_and_exit_code_one(agentreel: Call, tmp_path: Path) -> None:
    said = agentreel("stats", tmp_path / "nothing")
    assert said.code == 1
    assert said.out == ""
    assert said.err == f"error: {tmp_path}/nothing: no such file or directory\n"


def test_wrong_usage_is_exit_code_two(agentreel: Call) -> None:
    assert agentreel("stats").code == 2


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("a bug\nover two lines")

    monkeypatch.setattr(stats_command, "read_source", fail)


@pytest.mark.usefixtures("broken")
def test_a_bug_is_one_line_without_debug(agentreel: Call) -> None:
    said = agentreel("stats", "x")
    assert said.code == 1
    assert said.err.startswith("error: RuntimeError: a bug over two lines; this is a bug of agentreel")
    assert said.err.count("\n") == 1


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("args", [("--debug", "stats", "x"), ("stats", "x", "--debug")])
def test_debug_shows_where(agentreel: Call, args: tuple[str, ...]) -> None:
    with pytest.raises(RuntimeError):
        agentreel(*args)


def test_an_interrupt_ends_cleanly(agentreel: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stats_command, "read_source", interrupt)
    said = agentreel("stats", "x")
    assert said.code == 130
    assert "Traceback" not in said.err
