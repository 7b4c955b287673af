from __future__ import annotations

from pathlib import Path

from tests.agentreel.conftest import Call
from tests.fakehub import FakeHub


def test_what_is_not_there_or_in_the_way_is_one_line(hub: FakeHub, agentreel: Call, tmp_path: Path) -> None:
    missing = agentreel("pull", "org/none", tmp_path / "corpus")
    assert (missing.code, missing.err.count("\n")) == (1, 1)
    assert "no such repository" in missing.err
    assert not (tmp_path / "corpus").exists()
