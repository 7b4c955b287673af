"""Consumers of trace formats, each in an environment of its own under `.peers/` of the checkout, installed once.

aiperf and agentx-harness ship the same module, so they cannot share one. `python_of` gives the interpreter, or None
after printing why a peer cannot be had; `ask` runs `formats_dump.py` by it. None of them is a dependency of agentreel.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

from tests.peers import agentx_peer

PEERS: Final = {
    "aiperf": ("aiperf==0.13.0",),
    "inference-perf": ("inference-perf==0.7.0",),
    "dynamo": ("ai-dynamo-runtime==1.6.1", "--no-deps ai-dynamo==1.6.1"),  # of the second only its replay is asked
}
_DUMP: Final = Path(__file__).with_name("formats_dump.py")
_PYTHONS: Final = ("3.12", "3.13")  # that both have wheels for
_TIMEOUT_S: Final = 1800


def python_of(peer: str) -> Path | None:
    if peer == "agentx-harness":
        return agentx_peer.install()
    home, recipe = agentx_peer.ROOT / ".peers" / peer, " ".join(PEERS[peer])
    python, stamp = home / "venv" / "bin" / "python", home / "recipe"
    if stamp.is_file() and stamp.read_text() == recipe:
        return python
    base = _find_python()
    if base is None:
        print(f"{recipe}: no Python {' or '.join(_PYTHONS)} with venv is to be had")
        return None
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    installs = [[*pip, *wanted.split()] for wanted in PEERS[peer]]
    for command in ([str(base), "-m", "venv", str(home / "venv")], *installs):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            print(f"{recipe}: not installed within {_TIMEOUT_S} s")
            return None
        if done.returncode:
            print(f"{recipe}: cannot be installed: {done.stderr.strip().splitlines()[-1:]}")
            return None
    stamp.write_text(recipe)
    return python


def _find_python() -> Path | None:
    """On the path, or where pyenv keeps them."""
    found = [shutil.which(f"python{version}") for version in _PYTHONS]
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found += [str(python) for version in _PYTHONS for python in sorted(kept.glob(f"{version}*/bin/python"))]
    for python in found:
        if python and not subprocess.run([python, "-c", "import venv"], check=False, capture_output=True).returncode:
            return Path(python)
    return None


def ask(python: Path, form: str, path: Path) -> Any:
    """What `formats_dump` prints for a file or folder."""
    command = [str(python), str(_DUMP), form, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])
