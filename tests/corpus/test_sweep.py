from __future__ import annotations

from pathlib import Path

import pytest

from corpus.errors import InputError, OutputExistsError
from corpus.run import write_run
from corpus.sweep import claim_group, group_name, is_sweep, point_path, sweep_points


def test_points_are_the_runs_of_all_groups_in_order(tmp_path: Path) -> None:
    for group, concurrency in (("chips=8", 16), ("chips=8", 2), ("all", 1)):
        claim_group(tmp_path, group, {"seed": 1})
        write_run(point_path(tmp_path, group, concurrency), {}, [], {})
    (point_path(tmp_path, "all", 4)).mkdir()
    assert is_sweep(tmp_path)
    assert [(p.group, p.concurrency) for p in sweep_points(tmp_path)] == [("all", 1), ("chips=8", 2), ("chips=8", 16)]


def test_a_group_goes_on_only_with_the_settings_it_was_begun_with(tmp_path: Path) -> None:
    claim_group(tmp_path, "all", {"seed": 1, "duration_s": 5.0})
    claim_group(tmp_path, "all", {"seed": 1, "duration_s": 5.0})
    claim_group(tmp_path, "gpu=B200", {"seed": 2, "duration_s": 5.0})
    with pytest.raises(InputError, match=r"another seed \(1, not 2\)"):
        claim_group(tmp_path, "all", {"seed": 2, "duration_s": 5.0})


def test_a_folder_with_other_things_is_no_place_for_a_sweep(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(OutputExistsError):
        claim_group(tmp_path, "all", {})
    assert not is_sweep(tmp_path)


def test_broken_settings_are_one_line(tmp_path: Path) -> None:
    claim_group(tmp_path, "all", {})
    (tmp_path / "all" / "settings.json").write_text("{")
    with pytest.raises(InputError, match="is no JSON"):
        claim_group(tmp_path, "all", {})


def test_groups_are_named_by_their_labels_and_stay_inside_the_folder() -> None:
    assert group_name({}) == "all"
    assert group_name({"gpu": "H200", "chips": "8"}) == "chips=8,gpu=H200"
    assert "/" not in group_name({"..": "../a/b"})
