from __future__ import annotations

import contextlib
import errno
import fcntl
from pathlib import Path

import pytest

from corpus.capture import lock
from corpus.capture.lock import held_alone
from corpus.capture.writer import CaptureWriter
from corpus.errors import InputError


def test_writers_share_and_whoever_deletes_is_alone(tmp_path: Path) -> None:
    one, other = CaptureWriter(tmp_path / "c", "w0"), CaptureWriter(tmp_path / "c", "w1")
    for writer in (one, other):
        with pytest.raises(InputError, match="a recorder is writing here; stop it first"), held_alone(tmp_path / "c"):
            pass
        writer.close()
    with held_alone(tmp_path / "c"), pytest.raises(InputError, match="being pruned"):
        CaptureWriter(tmp_path / "c", "w0")
    CaptureWriter(tmp_path / "c", "w0").close()


def test_a_recorder_that_starts_while_somebody_asks_waits_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    CaptureWriter(tmp_path / "c", "w0").close()
    with contextlib.ExitStack() as asking:
        asking.enter_context(held_alone(tmp_path / "c"))
        monkeypatch.setattr("corpus.capture.lock.time.sleep", lambda _: asking.close())
        writer = CaptureWriter(tmp_path / "c", "w0")
    assert lock.is_recording(tmp_path / "c")
    writer.close()
    assert not lock.is_recording(tmp_path / "c")


@pytest.mark.parametrize(("number", "passes"), [(errno.ENOLCK, True), (errno.EIO, False)])
def test_a_file_system_without_locks_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, passes: bool
) -> None:
    def refuse(_descriptor: int, _kind: int) -> None:
        raise OSError(number, "no")

    monkeypatch.setattr(fcntl, "flock", refuse)
    if passes:
        CaptureWriter(tmp_path / "c", "w0").close()
    else:
        with pytest.raises(OSError, match="no"):
            CaptureWriter(tmp_path / "c", "w0")
