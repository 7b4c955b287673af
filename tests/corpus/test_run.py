"""Run directories: round trip, refusal, and one-line errors for what is broken."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.errors import InputError, OutputExistsError
from corpus.run import SentRequest, is_run, read_run, refuse_existing_run, with_prediction, write_run

_COUNT = st.integers(0, 2**62)
_MAYBE = st.none() | _COUNT


@st.composite
def sent_requests(draw: st.DrawFn) -> SentRequest:
    waits = draw(st.lists(st.tuples(_COUNT, _COUNT, st.sampled_from(["end", "start"])), max_size=3))
    hints = get_type_hints(SentRequest)
    values: dict[str, Any] = {}
    for field in fields(SentRequest):
        values[field.name] = draw(_MAYBE if hints[field.name] == int | None else _COUNT)
    values |= {
        "phase": draw(st.sampled_from(["warmup", "profile"])),
        "model": draw(st.none() | st.text(max_size=5)),
        "error": draw(st.sampled_from([None, "connect", "cut"])),
        "after": tuple(src for src, _, _ in waits),
        "after_delay_us": tuple(delay for _, delay, _ in waits),
        "after_anchor": tuple(anchor for _, _, anchor in waits),
    }
    return SentRequest(**values)


def a_row(**changes: Any) -> SentRequest:
    values: dict[str, Any] = dict.fromkeys((field.name for field in fields(SentRequest)), 1)
    values |= {"phase": "profile", "model": None, "error": None}
    values |= {"after": (), "after_delay_us": (), "after_anchor": ()}
    return SentRequest(**{**values, **changes})


@given(rows=st.lists(sent_requests(), max_size=5))
def test_what_is_written_is_read_back_equal(tmp_path_factory: pytest.TempPathFactory, rows: list[SentRequest]) -> None:
    path = tmp_path_factory.mktemp("runs") / "run"
    write_run(path, {"seed": 1}, rows, {"requests": len(rows)})
    run = read_run(path)
    assert run.requests == tuple(rows)
    assert (run.config, run.summary) == ({"seed": 1}, {"requests": len(rows)})
    assert is_run(path)


@given(row=sent_requests(), cached=_MAYBE)
def test_a_prediction_changes_nothing_else(row: SentRequest, cached: int | None) -> None:
    assert with_prediction(row, cached) == replace(row, predicted_cached_tokens=cached)


def test_nothing_is_left_beside_a_written_run(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {}, [a_row()], {})
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]


def test_failing_rows_leave_no_run_behind(tmp_path: Path) -> None:
    def broken() -> Any:
        yield a_row()
        raise RuntimeError("lost")

    with pytest.raises(RuntimeError, match="lost"):
        write_run(tmp_path / "run", {}, broken(), {})
    assert list(tmp_path.iterdir()) == []


def test_existing_run_is_refused_without_force_and_replaced_with_it(tmp_path: Path) -> None:
    path = tmp_path / "run"
    write_run(path, {"number": 1}, [], {})
    with pytest.raises(OutputExistsError):
        write_run(path, {"number": 2}, [], {})
    with pytest.raises(OutputExistsError):
        refuse_existing_run(path, force=False)
    write_run(path, {"number": 3}, [], {}, force=True)
    assert read_run(path).config == {"number": 3}


def test_force_never_replaces_a_folder_of_other_things(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").write_text("dear")
    with pytest.raises(InputError):
        refuse_existing_run(tmp_path / "home", force=True)
    assert (tmp_path / "home" / "letter.txt").read_text() == "dear"


def test_force_never_replaces_a_file(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        refuse_existing_run(tmp_path / "run", force=True)


@pytest.mark.parametrize("name", ["config.json", "requests.parquet", "summary.json"])
def test_missing_or_broken_file_is_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / "run"
    write_run(path, {}, [a_row()], {})
    (path / name).write_bytes(b"[not what it should be")
    with pytest.raises(InputError, match=name):
        read_run(path)
    (path / name).unlink()
    with pytest.raises(InputError, match=f"{name}: is missing"):
        read_run(path)


def test_no_directory_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such run"):
        read_run(tmp_path / "nowhere")


def rewrite(path: Path, change: Any) -> None:
    file = path / "requests.parquet"
    pq.write_table(change(pq.read_table(file)), file)


def test_missing_column_is_named(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {}, [a_row()], {})
    rewrite(tmp_path / "run", lambda table: table.drop_columns(["due_us"]))
    with pytest.raises(InputError, match="due_us"):
        read_run(tmp_path / "run")


def test_column_of_a_wrong_type_is_an_input_error(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {}, [a_row()], {})
    rewrite(
        tmp_path / "run",
        lambda table: table.drop_columns(["lane"]).append_column("lane", pa.array(["one"])),
    )
    with pytest.raises(InputError, match="wrong type"):
        read_run(tmp_path / "run")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"after": (1,)}, "not equally long"),
        ({"phase": "later"}, "none of the known words"),
        ({"after": (1,), "after_delay_us": (1,), "after_anchor": ("middle",)}, "none of the known words"),
    ],
)
def test_row_that_contradicts_itself_is_named(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    write_run(tmp_path / "run", {}, [a_row(), a_row(**changes)], {})
    with pytest.raises(InputError, match=f"row 1: .*{said}"):
        read_run(tmp_path / "run")


def test_null_where_a_value_belongs_is_named(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {}, [a_row()], {})
    rewrite(
        tmp_path / "run",
        lambda table: table.drop_columns(["play"]).append_column("play", pa.array([None], pa.int64())),
    )
    with pytest.raises(InputError, match="play"):
        read_run(tmp_path / "run")


def test_files_beside_the_rows_go_along_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "server.parquet").write_bytes(b"anything")
    write_run(tmp_path / "run", {}, [a_row()], {}, beside=[tmp_path / "server.parquet"])
    assert (tmp_path / "run" / "server.parquet").read_bytes() == b"anything"
