"""Habits of this repository, held by test: mirrored tests, short files, short room READMEs, a truthful README."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("agentreel", "anonymize", "corpus", "dagbuild", "proxy", "replay", "report", "standin", "wire")
MODULES = sorted(
    path.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("*.py") if path.name != "__init__.py"
)
# Modules whose behaviour is tested through another file; every entry is a debt with a reason.
TESTED_ELSEWHERE: dict[str, str] = {}
MAX_LINES = 350


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_module_has_its_mirror_test(module: Path) -> None:
    if str(module) in TESTED_ELSEWHERE:
        pytest.skip(TESTED_ELSEWHERE[str(module)])
    mirror = ROOT / "tests" / module.parent / f"test_{module.name.removeprefix('__').replace('__.py', '.py')}"
    assert mirror.is_file(), f"write {mirror.relative_to(ROOT)}"


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_module_is_short_and_says_what_it_decides(module: Path) -> None:
    text = (ROOT / module).read_text()
    assert text.count("\n") <= MAX_LINES
    if "commands" not in module.parts:  # a command's own help text says it
        assert text.startswith('"""')


@pytest.mark.parametrize("room", [r for r in ROOMS if r != "agentreel"])
def test_room_readme_is_at_most_forty_lines(room: str) -> None:
    text = (ROOT / room / "README.md").read_text()
    assert 0 < text.count("\n") <= 40


def test_readme_links_lead_somewhere() -> None:
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for link in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_no_test_folder_is_a_package() -> None:
    assert not list((ROOT / "tests").rglob("__init__.py"))
