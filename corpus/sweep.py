"""Sweeps: one run for each concurrency, in one folder; several groups of them, told apart by their labels.

    DIR/sweep.json                    marks the folder
    DIR/GROUP/settings.json           what decided every run of the group, but for the concurrency
    DIR/GROUP/concurrency-8/          a run

A group is named by its labels (`chips=8,gpu=H200`), or `all` without any.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import orjson

from corpus.errors import InputError, OutputExistsError
from corpus.run import is_run

_MARK: Final = "sweep.json"
_SETTINGS: Final = "settings.json"
_POINT: Final = re.compile(r"concurrency-([1-9]\d*)")


@dataclass(frozen=True, slots=True)
class SweepPoint:
    group: str
    concurrency: int
    path: Path  # of the run


def is_sweep(path: Path) -> bool:
    return (path / _MARK).is_file()


def sweep_points(path: Path) -> list[SweepPoint]:
    """Those that have been run, by group and concurrency."""
    points = [
        SweepPoint(group.name, int(match[1]), run)
        for group in path.iterdir()
        if (group / _SETTINGS).is_file()
        for run in group.iterdir()
        if (match := _POINT.fullmatch(run.name)) and is_run(run)
    ]
    return sorted(points, key=lambda point: (point.group, point.concurrency))


def group_name(labels: Mapping[str, str]) -> str:
    return ",".join(f"{quote(key, safe='+ ')}={quote(labels[key], safe='+ ')}" for key in sorted(labels)) or "all"


def point_path(path: Path, group: str, concurrency: int) -> Path:
    return path / group / f"concurrency-{concurrency}"


def claim_group(path: Path, group: str, settings: Mapping[str, Any]) -> None:
    """Make the folders, or go on in those of an earlier sweep with the same settings.

    OutputExistsError for a folder that is no sweep, InputError for a group that other settings decided.
    """
    if path.exists() and not is_sweep(path) and (not path.is_dir() or any(path.iterdir())):
        raise OutputExistsError(path)
    (path / group).mkdir(parents=True, exist_ok=True)
    (path / _MARK).write_bytes(b'{"version":1}\n')
    file = path / group / _SETTINGS
    if not file.is_file():
        file.write_bytes(orjson.dumps(dict(settings), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
        return
    try:
        before = orjson.loads(file.read_bytes())
    except orjson.JSONDecodeError as error:
        raise InputError(file, f"is no JSON ({error})", "choose another folder") from error
    for name in sorted({*before, *settings}):
        if before.get(name) != settings.get(name):
            raise InputError(
                path / group,
                f"was begun with another {name} ({before.get(name)!r}, not {settings.get(name)!r})",
                "give the same options, another --label or another folder",
            )
