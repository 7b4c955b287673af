from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpus.capture import reader as reader_module
from corpus.capture.directory import segment_files
from corpus.capture.index import INDEX_NAME, drop_index, file_state, read_index, write_index
from corpus.capture.reader import open_captures, verify_captures
from corpus.capture.scan import Place, RequestNote, ResponseNote, Scan, scan_file
from corpus.capture.writer import CaptureWriter
from corpus.exchange import GapRecord
from tests.corpus.capture.conftest import MakeExchange


@pytest.fixture
def captures(tmp_path: Path, make_exchange: MakeExchange) -> Path:
    path = tmp_path / "captures"
    writer = CaptureWriter(path, "w0")
    for number in range(6):
        request, response = make_exchange(number, f"s{number % 3}")
        writer.write_request(request)
        writer.write_response(request.identity.session_id, response)
    writer.write_gap(GapRecord("backlog", 5, 6, 7))
    writer.close()
    return path


def test_what_is_read_back_equals_what_was_scanned(captures: Path) -> None:
    verify_captures(captures)
    files = segment_files(captures)
    assert read_index(captures, files) == {file: scan_file(file) for file in files}


def test_a_second_reader_scans_nothing(captures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list(open_captures(captures, keep_index=True).exchanges())
    monkeypatch.setattr(reader_module, "scan_file", lambda file: pytest.fail(f"scanned {file}"))
    again = open_captures(captures)
    assert list(again.exchanges()) == read
    assert again.gaps == [GapRecord("backlog", 5, 6, 7)]


def test_a_file_that_grew_is_scanned_again(captures: Path, make_exchange: MakeExchange) -> None:
    verify_captures(captures)
    writer = CaptureWriter(captures, "w1")
    writer.write_request(make_exchange(9, "s0")[0])
    assert len(list(open_captures(captures, keep_index=True).exchanges())) == 7
    writer.write_request(make_exchange(10, "s0")[0])
    writer.close()
    assert len(list(open_captures(captures, keep_index=True).exchanges())) == 8


def test_reading_alone_writes_no_index(captures: Path) -> None:
    list(open_captures(captures).exchanges())
    assert not (captures / INDEX_NAME).exists()


def test_the_index_is_private(captures: Path) -> None:
    old = os.umask(0)
    try:
        verify_captures(captures)
    finally:
        os.umask(old)
    assert (captures / INDEX_NAME).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"rubbish" * 1000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_index_counts_as_none_and_is_made_anew(captures: Path, content: bytes) -> None:
    (captures / INDEX_NAME).write_bytes(content)
    assert len(list(open_captures(captures).exchanges())) == 6
    open_captures(captures, keep_index=True).scan_all()
    assert len(read_index(captures, segment_files(captures))) == 4


def test_an_index_of_another_version_is_replaced(captures: Path) -> None:
    verify_captures(captures)
    with sqlite3.connect(captures / INDEX_NAME) as index:
        index.execute("PRAGMA user_version = 99")
    index.close()
    assert read_index(captures, segment_files(captures)) == {}
    open_captures(captures, keep_index=True).scan_all()
    assert len(read_index(captures, segment_files(captures))) == 4


def test_files_that_are_gone_are_forgotten(captures: Path) -> None:
    verify_captures(captures)
    segment_files(captures)[0].unlink()
    write_index(captures, {})
    with sqlite3.connect(captures / INDEX_NAME) as index:
        assert index.execute("SELECT count(*) FROM files").fetchone() == (3,)
    index.close()


def test_where_no_index_can_be_written_reading_goes_on(captures: Path) -> None:
    (captures / INDEX_NAME).mkdir()
    assert len(list(open_captures(captures, keep_index=True).exchanges())) == 6


texts = st.text(alphabet=st.characters(exclude_categories=[]), max_size=20)
numbers = st.integers(-(2**63), 2**63 - 1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.lists(st.tuples(texts, st.none() | texts, numbers)))
def test_ids_of_any_shape_come_back(tmp_path: Path, ids: list[tuple[str, str | None, int]]) -> None:
    file = tmp_path / "a.segment"
    file.touch()
    drop_index(tmp_path)
    scan = Scan(
        [
            RequestNote(Place(file, 1, 2, n), first, other, t_us, other, first, other, None, "other", "turn")
            for n, (first, other, t_us) in enumerate(ids)
        ],
        [
            ResponseNote(Place(file, 1, 2, n), first, None, "complete", t_us, None, t_us)
            for n, (first, _, t_us) in enumerate(ids)
        ],
    )
    assert write_index(tmp_path, {file: (file_state(file), scan)})
    assert read_index(tmp_path, [file]) == {file: scan}
