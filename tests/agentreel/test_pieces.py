from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from agentreel.pieces import (
    Manifest,
    Piece,
    code_digest,
    common_key,
    digest_files,
    piece_bytes,
    piece_path,
    read_piece,
    work_folder,
    write_piece,
)
from anonymize.heads import Head
from corpus.errors import InputError
from tests.anonymize.exchanges import claude_answer, claude_body, exchange, session_of, user

MANIFEST = Manifest("1", "2", "3")


@pytest.fixture
def piece() -> Piece:
    session = session_of([exchange(1, claude_body([user("hi")]), claude_answer({"type": "text", "text": "hello"}))])
    head = Head("a" * 32, {1: "b" * 32, 2: "c" * 32})
    return Piece(MANIFEST, {"title": 2}, {"T2": True}, (("a.segment", 7, "torn"),), session, head)


@pytest.mark.parametrize("empty", [False, True])
def test_a_piece_comes_back_equal(tmp_path: Path, piece: Piece, empty: bool) -> None:
    made = replace(piece, session=None, head=None) if empty else piece
    write_piece(tmp_path / "a.piece", piece_bytes(made))
    assert read_piece(tmp_path / "a.piece", MANIFEST) == made


@pytest.mark.parametrize("other", [Manifest("x", "2", "3"), Manifest("1", "x", "3"), Manifest("1", "2", "x")])
def test_a_piece_of_other_input_code_or_settings_is_none(tmp_path: Path, piece: Piece, other: Manifest) -> None:
    write_piece(tmp_path / "a.piece", piece_bytes(piece))
    assert read_piece(tmp_path / "a.piece", other) is None


def test_a_missing_cut_or_foreign_piece_is_none(tmp_path: Path, piece: Piece) -> None:
    path = tmp_path / "a.piece"
    assert read_piece(path, MANIFEST) is None
    packed = write_piece(path, piece_bytes(piece))
    path.write_bytes(packed[: len(packed) // 2])
    assert read_piece(path, MANIFEST) is None
    write_piece(path, b"[]")
    assert read_piece(path, MANIFEST) is None


def test_a_piece_is_its_owners_and_leaves_nothing_beside_it(tmp_path: Path, piece: Piece) -> None:
    write_piece(tmp_path / "a.piece", piece_bytes(piece))
    assert [path.name for path in tmp_path.iterdir()] == ["a.piece"]
    assert stat.S_IMODE((tmp_path / "a.piece").stat().st_mode) == 0o600


def test_a_session_shows_in_no_name(tmp_path: Path) -> None:
    path = piece_path(tmp_path, ("jane's session",))
    assert "jane" not in path.name
    assert path != piece_path(tmp_path, (None,)) != piece_path(tmp_path, ("jane's session", None))


def touch_and_fail(folder: Path) -> None:
    (folder / "a.piece").touch()
    (folder / "b.piece").unlink()


def test_the_work_folder_goes_when_all_went_well_and_stays_otherwise(tmp_path: Path) -> None:
    folder = tmp_path / ".corpus.build"
    with pytest.raises(FileNotFoundError), work_folder(tmp_path / "corpus"):
        touch_and_fail(folder)
    assert (folder / "a.piece").exists()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    with work_folder(tmp_path / "corpus") as again:
        assert (again / "a.piece").exists()
    assert list(tmp_path.iterdir()) == []


def test_two_builds_of_one_corpus_at_once_are_refused(tmp_path: Path) -> None:
    with (
        work_folder(tmp_path / "corpus"),
        pytest.raises(InputError, match="is being built by another process"),
        work_folder(tmp_path / "corpus"),
    ):
        pass


def test_digests_follow_names_and_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").write_bytes(b"1")
    one = digest_files([tmp_path / "a"])
    assert one == digest_files([tmp_path / "a"]) != digest_files([tmp_path / "b"])
    (tmp_path / "a").write_bytes(b"2")
    assert one != digest_files([tmp_path / "a"])


def test_the_code_has_one_digest() -> None:
    assert code_digest() == code_digest() != ""


def test_all_pieces_of_a_folder_have_one_private_key_and_it_goes_with_them(tmp_path: Path) -> None:
    with work_folder(tmp_path / "one") as folder, work_folder(tmp_path / "two") as other:
        assert common_key(folder) == common_key(folder) != common_key(other)
        assert [stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir() if path.suffix == ".key"] == [0o600]
    assert list(tmp_path.iterdir()) == []
