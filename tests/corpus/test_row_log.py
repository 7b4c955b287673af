from __future__ import annotations

from pathlib import Path

import pytest

from corpus.errors import InputError
from corpus.row_log import RowLog, read_row_log
from tests.replay.rehearsal import row_of

ROWS = [
    row_of(request=n, after=(n,) if n else (), after_delay_us=(5,) if n else (), after_anchor=("end",) if n else ())
    for n in range(150)
]


def write(path: Path, count: int = 150) -> None:
    log = RowLog(path)
    try:
        for row in ROWS[:count]:
            log.add(row)
    finally:
        log.close()


@pytest.mark.parametrize("count", [0, 1, 64, 150])
def test_rows_come_back_as_they_were_added(tmp_path: Path, count: int) -> None:
    write(tmp_path / "rows", count)
    assert list(read_row_log(tmp_path / "rows")) == ROWS[:count]


@pytest.mark.parametrize("keep", [0, 1, 100, 0.3, 0.6, 0.99])
def test_torn_file_gives_the_rows_before_the_tear(tmp_path: Path, keep: float) -> None:
    path = tmp_path / "rows"
    write(path)
    whole = path.read_bytes()
    torn = whole[: round(keep if keep >= 1 else keep * len(whole))]
    path.write_bytes(torn)
    assert list(read_row_log(path)) == ROWS[: torn.count(b"\n")]


def test_log_of_a_killed_process_is_readable(tmp_path: Path) -> None:
    log = RowLog(tmp_path / "rows")
    log._written_s -= 60
    log.add(ROWS[0])
    log.add(ROWS[1])
    assert list(read_row_log(tmp_path / "rows")) == ROWS[:1]
    log.close()


def test_no_log_has_no_rows(tmp_path: Path) -> None:
    assert list(read_row_log(tmp_path / "rows")) == []


def test_full_disk_is_an_os_error() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    with pytest.raises(OSError, match="No space left"):
        write(full)


def test_values_no_replay_wrote_are_refused(tmp_path: Path) -> None:
    log = RowLog(tmp_path / "rows")
    log.add(row_of(phase="later"))
    log.close()
    with pytest.raises(InputError, match="phase"):
        list(read_row_log(tmp_path / "rows"))
