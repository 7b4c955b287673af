"""One real run of the demo for all tests of the commands, and a way to call a command and see all it says."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentreel.__main__ import main
from corpus.capture.reader import Captures
from tests.agentreel.building_site import record, talk


@dataclass(frozen=True, slots=True)
class Said:
    code: int
    out: str
    err: str


Call = Callable[..., Said]


@dataclass(frozen=True, slots=True)
class Chain:
    """What `agentreel demo` left behind, and what it printed."""

    folder: Path
    said: str

    @property
    def captures(self) -> Path:
        return self.folder / "captures"

    @property
    def corpus(self) -> Path:
        return self.folder / "corpus"

    @property
    def run(self) -> Path:
        return self.folder / "run"


@pytest.fixture(scope="session")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Chain:
    folder = tmp_path_factory.mktemp("chain") / "demo"
    command = [sys.executable, "-m", "agentreel", "demo", "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return Chain(folder, done.stdout)


@pytest.fixture
def captures(tmp_path: Path) -> Captures:
    """Six sessions of different sizes, the later ones larger."""
    return record(tmp_path / "captures", [one for n in range(6) for one in talk(f"s{n}", 100.0 * n, 50 * (n + 1))])


@pytest.fixture
def agentreel(capsys: pytest.CaptureFixture[str]) -> Call:
    """Call one command in this process."""

    def call(*args: object) -> Said:
        capsys.readouterr()
        code: object = 0
        try:
            main([str(arg) for arg in args])
        except SystemExit as stop:
            code = stop.code
        said = capsys.readouterr()
        assert isinstance(code, int)
        return Said(code, said.out, said.err)

    return call
