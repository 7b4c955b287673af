"""T13: Kingfisher, a secret scanner, over the folder as it would leave; skipped where it is not installed.

The tables hold almost no strings, so this guards what stands beside them: the card, pages, logs. Offline: findings are
not tried out anywhere and no update is looked for. Parquet is searched as JSON lines, since its pages are compressed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import orjson
import pyarrow.parquet as pq

_PROGRAM: Final = "kingfisher"
_OPTIONS: Final = ("scan", "--no-validate", "--no-update-check", "--max-file-size", "0", "--format", "json")
_FOUND: Final = 200  # exit code: findings, none of them tried out; 205 those that proved valid
_FOUND_VALID: Final = 205
_TIMEOUT_S: Final = 600


def find_scanner() -> str | None:
    """The program beside this Python, or on the path."""
    return shutil.which(_PROGRAM, path=str(Path(sys.executable).parent)) or shutil.which(_PROGRAM)


def scan(folder: Path, program: str) -> str | None:
    """What is wrong: that something was found, or that the scanner failed; None for a clean folder."""
    with tempfile.TemporaryDirectory(prefix="agentreel-scan-") as scratch:
        for number, path in enumerate(sorted(path for path in folder.rglob("*") if path.is_file())):
            _copy_plain(path, Path(scratch), f"{number}-{path.name}")
        command = [program, *_OPTIONS, scratch]
        try:
            done = subprocess.run(command, capture_output=True, check=False, timeout=_TIMEOUT_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"the scanner could not be run ({type(error).__name__})"
    if done.returncode in (_FOUND, _FOUND_VALID):
        return "the scanner found what looks like a secret"
    return None if done.returncode == 0 else f"the scanner failed with exit code {done.returncode}"


def _copy_plain(path: Path, scratch: Path, name: str) -> None:
    if path.suffix != ".parquet":
        shutil.copyfile(path, scratch / name)
        return
    with pq.ParquetFile(path) as file, (scratch / f"{name}.jsonl").open("wb") as out:
        for batch in file.iter_batches():
            out.writelines(orjson.dumps(row) + b"\n" for row in batch.to_pylist())
