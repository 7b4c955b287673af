from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import corpus.capture.sync as sync_module
from corpus.capture.directory import segment_files
from corpus.capture.prune import prune_captures
from corpus.capture.reader import open_captures
from corpus.capture.segment import FRAME_RECORDS
from corpus.capture.sync import sync_from, sync_to
from corpus.capture.writer import CaptureWriter
from corpus.errors import InputError
from corpus.exchange import Exchange
from corpus.place import Place, open_place
from tests.corpus.capture.conftest import MakeExchange


def record(path: Path, make_exchange: MakeExchange, numbers: range, session: str = "a") -> CaptureWriter:
    """Written and not yet closed, as by a recorder at work."""
    writer = CaptureWriter(path, "w0")
    for number in numbers:
        request, response = make_exchange(number, session)
        writer.write_request(replace(request, contributor=session))
        writer.write_response(session, response)
    return writer


def everything(path: Path) -> list[Exchange]:
    captures = open_captures(path)
    found = list(captures.exchanges())
    assert captures.damage == []
    return found


def test_two_recorders_captures_come_together_in_one_place(
    s3: str, tmp_path: Path, make_exchange: MakeExchange
) -> None:
    place = open_place(s3)
    for name, numbers in {"one": range(5), "two": range(5, 9)}.items():
        record(tmp_path / name, make_exchange, numbers).close()
        sync_to(tmp_path / name, place)
    done = sync_from(place, tmp_path / "all")
    assert (done.files, done.copied) == (2, 2)
    both = [*everything(tmp_path / "one"), *everything(tmp_path / "two")]
    assert everything(tmp_path / "all") == sorted(both, key=lambda one: one.request.t_request_us)


def test_a_second_time_copies_nothing(s3: str, tmp_path: Path, make_exchange: MakeExchange) -> None:
    record(tmp_path / "one", make_exchange, range(5)).close()
    first, second = (sync_to(tmp_path / "one", open_place(s3)) for _ in range(2))
    assert (first.copied, second.copied, second.copied_bytes) == (1, 0, 0)
    assert first.copied_bytes == sum(file.stat().st_size for file in segment_files(tmp_path / "one"))
    sync_from(open_place(s3), tmp_path / "back")
    assert sync_from(open_place(s3), tmp_path / "back").copied == 0


def test_of_a_recorder_at_work_only_finished_frames_are_copied(
    s3: str, tmp_path: Path, make_exchange: MakeExchange
) -> None:
    writer = record(tmp_path / "one", make_exchange, range(FRAME_RECORDS // 2 + 5))
    done = sync_to(tmp_path / "one", open_place(s3))
    assert done.waiting_bytes > 0
    sync_from(open_place(s3), tmp_path / "back")
    assert len(everything(tmp_path / "back")) == FRAME_RECORDS // 2
    writer.close()
    assert sync_to(tmp_path / "one", open_place(s3)).waiting_bytes == 0
    sync_from(open_place(s3), tmp_path / "back")
    assert everything(tmp_path / "back") == everything(tmp_path / "one")


def test_what_a_killed_recorder_left_is_copied_too(s3: str, tmp_path: Path, make_exchange: MakeExchange) -> None:
    writer = record(tmp_path / "one", make_exchange, range(3))
    shutil.copytree(tmp_path / "one", tmp_path / "left")  # where nobody holds the lock
    writer.close()
    assert sync_to(tmp_path / "left", open_place(s3)).waiting_bytes == 0
    sync_from(open_place(s3), tmp_path / "back")
    assert len(everything(tmp_path / "back")) == 3


def test_what_a_killed_recorder_left_does_not_wait_for_the_one_at_work(
    s3: str, tmp_path: Path, make_exchange: MakeExchange
) -> None:
    record(tmp_path / "one", make_exchange, range(3))  # never ended
    (left,) = segment_files(tmp_path / "one")
    at_work = record(tmp_path / "one", make_exchange, range(3, 6), "b")
    assert sync_to(tmp_path / "one", open_place(s3)).copied == 0
    os.utime(left, (0, 0))
    assert sync_to(tmp_path / "one", open_place(s3)).copied_bytes == left.stat().st_size
    at_work.close()


def test_what_is_there_in_full_is_not_read_again(
    s3: str, tmp_path: Path, make_exchange: MakeExchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path / "one", make_exchange, range(3)).close()
    at_work = record(tmp_path / "one", make_exchange, range(3, 6), "b")
    sync_to(tmp_path / "one", open_place(s3))
    read: list[str] = []

    def note_down(file: Path) -> bytes:
        read.append(file.name)
        return b""

    monkeypatch.setattr(sync_module, "read_bytes", note_down)
    sync_to(tmp_path / "one", open_place(s3))
    assert [name.startswith("b-") for name in read] == [True]
    at_work.close()


def test_a_copy_that_breaks_off_leaves_nothing_beside_what_is_whole(
    s3: str, tmp_path: Path, make_exchange: MakeExchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path / "one", make_exchange, range(3)).close()
    sync_to(tmp_path / "one", open_place(s3))

    def cut(_place: Place, _name: str, target: Path) -> None:
        target.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(Place, "fetch", cut)
    with pytest.raises(KeyboardInterrupt):
        sync_from(open_place(s3), tmp_path / "back")
    assert [path.name for path in (tmp_path / "back").iterdir()] == ["captures.json"]


def test_what_was_pruned_is_taken_back(s3: str, tmp_path: Path, make_exchange: MakeExchange) -> None:
    record(tmp_path / "one", make_exchange, range(5)).close()
    sync_to(tmp_path / "one", open_place(s3))
    prune_captures(tmp_path / "one", lambda notes: [notes[0].exchange_id])
    assert sync_to(tmp_path / "one", open_place(s3)).copied == 1
    sync_from(open_place(s3), tmp_path / "back")
    assert everything(tmp_path / "back") == everything(tmp_path / "one")


def test_places_that_hold_something_else_are_left_alone(s3: str, tmp_path: Path, make_exchange: MakeExchange) -> None:
    place = open_place(s3)
    record(tmp_path / "one", make_exchange, range(1)).close()
    with pytest.raises(InputError, match="holds no captures"):
        sync_from(place, tmp_path / "back")
    place.store("card.json", segment_files(tmp_path / "one")[0])
    with pytest.raises(InputError, match="something else"):
        sync_to(tmp_path / "one", place)
    with pytest.raises(InputError, match="does not exist"):
        sync_to(tmp_path / "none", place)
