"""Are the top-level packages we are about to import really ours?

The rooms' folder names (`proxy`, `replay`, ...) are also import names of other people's distributions. Another one
found first on the path, or one that overwrote ours inside site-packages, would fail in strange ways much later; so the
command looks before it imports: every room must stand beside `agentreel`, and an installed room's `__init__.py` must
still have the checksum its own installation recorded.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Final

ROOMS: Final = ("anonymize", "corpus", "dagbuild", "proxy", "replay", "report", "standin", "wire")
_ADVICE: Final = "install agentreel in an environment of its own (pipx install agentreel, or uv tool install agentreel)"


def foreign_rooms(home: Path | None = None) -> str | None:
    """One line about the first room that is not ours, or None. `home` is the folder that holds `agentreel/`."""
    home = home or Path(__file__).resolve().parent.parent
    recorded = _recorded_checksums(home)
    for room in ROOMS:
        init = _init_file(room)
        if init is None:
            return f"the package `{room}` of agentreel is missing; {_ADVICE}"
        if init.resolve().parent.parent != home:
            return f"the package `{room}` is another one ({init.parent}); {_ADVICE}"
        checksum = recorded.get(f"{room}/__init__.py")
        if checksum is not None and checksum != _checksum(init):
            return f"the package `{room}` was overwritten by another distribution ({init.parent}); {_ADVICE}"
    return None


def _init_file(room: str) -> Path | None:
    spec = find_spec(room) or PathFinder.find_spec(room)
    return Path(spec.origin) if spec and spec.origin else None


def _recorded_checksums(home: Path) -> dict[str, str]:
    """`room/__init__.py` -> sha256 as in RECORD, for an installation in `home`; empty for an editable one."""
    try:
        files = distribution("agentreel").files or []
    except PackageNotFoundError:
        return {}
    return {
        str(file): file.hash.value
        for file in files
        if file.hash and file.name == "__init__.py" and Path(str(file.locate())).resolve().is_relative_to(home)
    }


def _checksum(path: Path) -> str:
    digest = hashlib.sha256(path.read_bytes()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
