"""Copying captures from many recorders into one place, or back: finished frames only, and as often as one likes.

A segment file only ever grows while it is written, and its name is unique to one run of one recorder, so those of many
may be copied into one place. A file whose finished part has the size that is there already is left alone; one that
grew, or that `prune` made smaller, takes the old one's place in one step.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from corpus.capture.directory import MARKER_NAME, SEGMENT_SUFFIX, prepare_captures, require_captures, segment_files
from corpus.capture.lock import is_recording
from corpus.capture.recovery import finished_bytes
from corpus.capture.scan import read_bytes
from corpus.errors import InputError
from corpus.place import Place

_RESTING_S: Final = 600


@dataclass(frozen=True, slots=True)
class Synced:
    files: int  # with something to copy, or there already
    copied: int
    copied_bytes: int
    waiting_bytes: int  # in frames that are not finished yet


def sync_to(captures: Path, place: Place, watch: Callable[[int, int], None] = lambda _done, _all: None) -> Synced:
    """InputError when `captures` are none, or the place holds something else."""
    require_captures(captures)
    there = place.sizes()
    if there and MARKER_NAME not in there:
        raise InputError(place.url, "holds something else than captures", "choose another name")
    if not there:
        place.store(MARKER_NAME, captures / MARKER_NAME)
    files = segment_files(captures)
    is_live = is_recording(captures)  # after: a recorder that comes later writes other files
    known = copied = sent = waiting = 0
    for number, file in enumerate(files):
        watch(number, len(files))
        size = file.stat().st_size
        is_whole = not is_live or there.get(file.name) == size or _rests(file)
        whole = size if is_whole else finished_bytes(read_bytes(file))
        waiting += size - whole
        known += whole > 0
        if whole and there.get(file.name) != whole:
            place.store(file.name, file, whole)
            copied, sent = copied + 1, sent + whole
    watch(len(files), len(files))
    return Synced(known, copied, sent, waiting)


def sync_from(place: Place, captures: Path) -> Synced:
    """The other way: into a local capture directory, made when it is missing."""
    there = place.sizes()
    if MARKER_NAME not in there:
        raise InputError(place.url, "holds no captures", "fill it with `agentreel captures sync CAPTURES URL`")
    prepare_captures(captures)
    here = {file.name: file.stat().st_size for file in segment_files(captures)}
    wanted = {name: size for name, size in there.items() if name.endswith(SEGMENT_SUFFIX)}
    copied = sent = 0
    for name, size in sorted(wanted.items()):
        if here.get(name) != size:
            aside = captures / f".{name}.{secrets.token_hex(8)}.partial"
            try:
                place.fetch(name, aside)
                aside.replace(captures / name)
            finally:
                aside.unlink(missing_ok=True)
            copied, sent = copied + 1, sent + size
    return Synced(len(wanted), copied, sent, 0)


def _rests(file: Path) -> bool:
    return time.time() - file.stat().st_mtime > _RESTING_S
