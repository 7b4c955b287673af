from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.capture.directory import (
    is_captures,
    prepare_captures,
    require_captures,
    segment_files,
    segment_name,
    segments_by_stem,
    session_stem,
)
from corpus.errors import InputError

session_ids = st.none() | st.text(alphabet=st.characters(exclude_categories=[]), max_size=60)


@given(session_ids, session_ids)
def test_file_names_are_safe_and_tell_sessions_apart(one: str | None, other: str | None) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,79}", session_stem(one))
    assert (session_stem(one).lower() == session_stem(other).lower()) == (one == other)


@pytest.mark.parametrize(
    "hostile", ["../../etc/passwd", "a/b", "..", ".", "", "x" * 10_000, "\0", "\ud800", "no-session"]
)
def test_hostile_session_ids_make_ordinary_names(hostile: str) -> None:
    name = segment_name(hostile, "w0", "run")
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]*\.w0\.run\.segment", name)
    assert len(name) < 200
    assert session_stem(hostile) != session_stem(None)


def test_names_of_workers_are_checked() -> None:
    with pytest.raises(ValueError, match="worker"):
        segment_name("s", "../w", "run")


def test_a_new_directory_is_private_and_marked(tmp_path: Path) -> None:
    captures = tmp_path / "deep" / "captures"
    prepare_captures(captures)
    prepare_captures(captures)
    require_captures(captures)
    assert stat.S_IMODE(captures.stat().st_mode) == 0o700
    assert [stat.S_IMODE(file.stat().st_mode) for file in captures.iterdir()] == [0o600]


def test_an_empty_directory_and_one_being_prepared_elsewhere_are_taken(tmp_path: Path) -> None:
    (tmp_path / ".captures.json.0123").touch()
    prepare_captures(tmp_path)
    assert is_captures(tmp_path)


def test_other_peoples_directories_and_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    for path in (tmp_path, tmp_path / "letter.txt", tmp_path / "letter.txt" / "captures"):
        with pytest.raises(InputError):
            prepare_captures(path)
    assert not is_captures(tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is not JSON"),
        ("[1]", "does not describe"),
        ('{"format":"other","version":1}', "does not describe"),
        ('{"format":"agentreel captures","version":"1"}', "does not describe"),
        ('{"format":"agentreel captures","version":3}', "version 3 is newer than 2.*update agentreel"),
    ],
)
def test_wrong_markers_are_refused_by_reader_and_writer(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "captures.json").write_text(content)
    for check in (require_captures, prepare_captures):
        with pytest.raises(InputError, match=words):
            check(tmp_path)


def test_what_is_no_capture_directory_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        require_captures(tmp_path / "nowhere")
    for path in (tmp_path, tmp_path / "file"):
        (tmp_path / "file").touch()
        with pytest.raises(InputError, match="is not a capture directory"):
            require_captures(path)


def test_files_of_one_session_are_found_by_name(tmp_path: Path) -> None:
    names = [segment_name(session, worker, "run") for session in ("a", "ab", None) for worker in ("w0", "w1")]
    for name in [*names, "captures.json", "index.sqlite"]:
        (tmp_path / name).touch()
    assert [file.name for file in segment_files(tmp_path)] == sorted(names)
    assert [file.name for file in segment_files(tmp_path, "a")] == sorted(names[:2])
    assert [file.name for file in segment_files(tmp_path, None)] == sorted(names[4:])


def test_segments_are_found_by_session_and_all_at_once(tmp_path: Path) -> None:
    names = [segment_name(session_id, worker, "r") for session_id in ("a", "ab", None) for worker in ("w1", "w0")]
    for name in (*names, "captures.json", f"{session_stem('a')}.w0.r.partial"):
        (tmp_path / name).touch()
    assert {file.name for file in segment_files(tmp_path)} == set(names)
    assert [file.name for file in segment_files(tmp_path, "a")] == [names[1], names[0]]
    expected = {session_stem(session_id): segment_files(tmp_path, session_id) for session_id in ("a", "ab", None)}
    assert segments_by_stem(tmp_path) == expected
