from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from agentreel.rooms import ROOMS, foreign_rooms


def test_our_own_rooms_are_accepted() -> None:
    assert foreign_rooms() is None


def test_a_room_from_another_place_is_refused_and_named(tmp_path: Path) -> None:
    complaint = foreign_rooms(home=tmp_path)
    assert complaint is not None
    assert f"`{ROOMS[0]}` is another one" in complaint
    assert "pipx" in complaint


def test_the_command_refuses_to_start_when_a_foreign_proxy_shadows_ours(tmp_path: Path) -> None:
    (tmp_path / "proxy").mkdir()
    (tmp_path / "proxy" / "__init__.py").write_text("")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from agentreel.__main__ import main; main(['stats', 'x'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: the package `proxy` is another one")
    assert done.stderr.count("\n") == 1
