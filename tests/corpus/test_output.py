from __future__ import annotations

from pathlib import Path

import pytest

from corpus.errors import InputError, OutputExistsError
from corpus.output import refuse_existing, written_aside


def anything(_: Path) -> bool:
    return True


def nothing(_: Path) -> bool:
    return False


def test_file_appears_under_its_name_only_when_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "out.json"
    with written_aside(path, force=False, replaceable=nothing) as aside:
        aside.write_text("whole")
        assert not path.exists()
    assert path.read_text() == "whole"
    assert [entry.name for entry in path.parent.iterdir()] == ["out.json"]


def test_failure_leaves_the_old_output_and_no_remains(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.mkdir()
    (path / "old").touch()
    with pytest.raises(RuntimeError):
        fail_while_writing(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]
    assert [entry.name for entry in path.iterdir()] == ["old"]


def test_existing_output_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("old")
    with pytest.raises(OutputExistsError), written_aside(tmp_path / "out", force=False, replaceable=anything):
        pytest.fail("was entered")
    assert (tmp_path / "out").read_text() == "old"


def test_force_replaces_a_file_and_a_folder_of_the_same_kind(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "old").touch()
    with written_aside(tmp_path / "file", force=True, replaceable=nothing) as aside:
        aside.write_text("new")
    with written_aside(tmp_path / "folder", force=True, replaceable=anything) as aside:
        aside.mkdir()
    assert (tmp_path / "file").read_text() == "new"
    assert list((tmp_path / "folder").iterdir()) == []
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder"]


def test_force_never_replaces_a_folder_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letters").touch()
    with pytest.raises(InputError, match="holds other things"):
        refuse_existing(tmp_path / "home", force=True, replaceable=nothing)


def test_empty_folder_may_be_replaced_by_force(tmp_path: Path) -> None:
    refuse_existing(tmp_path, force=True, replaceable=nothing)


def test_place_under_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    place = written_aside(tmp_path / "file" / "out", force=False, replaceable=nothing)
    with pytest.raises(InputError, match="cannot be written here"), place:
        pytest.fail("was entered")


def fail_while_writing(path: Path) -> None:
    with written_aside(path, force=True, replaceable=anything) as aside:
        aside.mkdir()
        (aside / "new").touch()
        raise RuntimeError
