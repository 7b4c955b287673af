"""Deleting from captures: whole exchanges, chosen by what is noted of their requests.

A file that holds nothing else is unlinked, any other is written anew without them and takes its own place in one step,
so a crash leaves the old file or the new one. What could not be read of such a file is gone with it, and counted.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpus.capture.directory import require_captures, segment_files
from corpus.capture.index import write_index
from corpus.capture.lock import held_alone
from corpus.capture.meta import load_json
from corpus.capture.reader import Captures
from corpus.capture.recovery import Frame, first_records, read_frames
from corpus.capture.scan import RequestNote, read_bytes
from corpus.capture.segment import FRAME_END, FrameEncoder, Marker, Record


@dataclass(frozen=True, slots=True)
class Pruned:
    exchanges: int
    files_removed: int
    files_rewritten: int
    bytes_freed: int
    damage_lost: int  # unreadable stretches in files that were written anew


def prune_captures(
    path: Path, choose: Callable[[Sequence[RequestNote]], Iterable[str]], *, dry: bool = False
) -> Pruned:
    """Delete the exchanges whose ids `choose` picks from all notes; `dry` only counts them.

    InputError when `path` is no capture directory, or while a recorder writes to it.
    """
    require_captures(path)
    with held_alone(path):
        captures = Captures(path)
        notes = captures.notes()
        doomed = set(choose(notes)) & {note.exchange_id for note in notes}
        if dry:
            return Pruned(len(doomed), 0, 0, 0, 0)
        done = [_prune_file(file, doomed) for file in segment_files(path)] if doomed else []
        write_index(path, {})
        return Pruned(len(doomed), *(sum(column) for column in zip(*done, strict=True)) if done else (0, 0, 0, 0))


def _prune_file(file: Path, doomed: set[str]) -> tuple[int, int, int, int]:
    """Files removed, files rewritten, bytes freed, damage lost."""
    data = read_bytes(file)
    found = list(read_frames(data, bodies=False))
    frames = [frame for frame in found if isinstance(frame, Frame)]
    ids = [_exchange_id(record) for frame in frames for record in frame.records]
    left = sum(exchange_id not in doomed for exchange_id in ids)
    if left == len(ids):
        return 0, 0, 0, 0
    if not left:
        file.unlink()
        return 1, 0, len(data), 0
    flaws = sum(not isinstance(frame, Frame) or frame.flaw is not None for frame in found)
    return 0, 1, len(data) - _rewrite(file, _kept(data, frames, doomed)), flaws


def _kept(data: bytes, frames: Iterable[Frame], doomed: set[str]) -> Iterator[tuple[Marker, Record]]:
    for frame in frames:
        for record in first_records(data[frame.offset : frame.end]):
            if _exchange_id(record) not in doomed:
                yield frame.marker, record


def _rewrite(file: Path, kept: Iterable[tuple[Marker, Record]]) -> int:
    """Size of the new file."""
    aside = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            encoder: FrameEncoder | None = None
            for marker, record in kept:
                if encoder is None or encoder.full:
                    out.write(FRAME_END if encoder else b"")
                    encoder = FrameEncoder(marker)
                out.write(encoder.encode(record))
            out.write(FRAME_END)
            out.flush()
            os.fsync(out.fileno())
        size = aside.stat().st_size
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)
    return size


def _exchange_id(record: Record) -> str | None:
    """None for gaps, and for what says nothing that could be pruned by."""
    try:
        found = load_json(record.meta).get("exchange_id")
    except (ValueError, AttributeError):
        return None
    return found if isinstance(found, str) else None
