"""The reference harness in an environment of its own, `.peers/agentx` of the checkout, installed once; and asked.

`install` gives None and prints why when it cannot be had. Nothing of it is a dependency of agentreel.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
RECIPE: Final = "agentx-harness==1.0.12"
_HOME: Final = ROOT / ".peers" / "agentx"
_DUMP: Final = Path(__file__).with_name("agentx_dump.py")
_INSTALL_TIMEOUT_S: Final = 1800


def install() -> Path | None:
    """Its interpreter."""
    python, stamp = _HOME / "bin" / "python", _HOME / "recipe"
    if stamp.is_file() and stamp.read_text() == RECIPE:
        return python
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", RECIPE]
    for command in ([sys.executable, "-m", "venv", str(_HOME)], pip):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_INSTALL_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            print(f"{RECIPE}: not installed within {_INSTALL_TIMEOUT_S} s")
            return None
        if done.returncode:
            print(f"{RECIPE}: cannot be installed: {done.stderr.strip().splitlines()[-1:]}")
            return None
    stamp.write_text(RECIPE)
    return python


def ask(python: Path, folder: Path, *options: str) -> Any:
    """What `agentx_dump` prints for a folder of traces, one a file."""
    command = [str(python), str(_DUMP), str(folder), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_INSTALL_TIMEOUT_S)
    return json.loads(done.stdout)
