from __future__ import annotations

import errno
import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from corpus.capture import writer as writer_module
from corpus.capture.directory import segment_files
from corpus.capture.reader import open_captures
from corpus.capture.recovery import Frame, read_frames
from corpus.capture.writer import IDLE_US, CaptureWriter
from corpus.errors import InputError
from corpus.exchange import RequestRecord, ResponseRecord

type Pair = tuple[RequestRecord, ResponseRecord]
type MakeExchange = Callable[..., Pair]


def write(writer: CaptureWriter, pair: Pair) -> None:
    writer.write_request(pair[0])
    writer.write_response(pair[0].identity.session_id, pair[1])


def stored(path: Path) -> list[Pair]:
    exchanges = open_captures(path).exchanges()
    return [(exchange.request, exchange.response) for exchange in exchanges if exchange.response]


def frames(path: Path) -> list[int]:
    """Number of records in each frame of the only file."""
    (file,) = segment_files(path)
    found = list(read_frames(file.read_bytes()))
    assert all(isinstance(frame, Frame) and frame.flaw is None for frame in found)
    return [len(frame.records) for frame in found if isinstance(frame, Frame)]


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """The kernel then refuses to let files grow further, after a partial write, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_each_record_can_be_read_as_soon_as_it_is_written(tmp_path: Path, make_exchange: MakeExchange) -> None:
    writer = CaptureWriter(tmp_path / "c", "w0")
    for number in range(5):
        write(writer, make_exchange(number))
        captures = open_captures(tmp_path / "c")
        assert [exchange.request.exchange_id for exchange in captures.exchanges()] == [
            f"x{earlier:06}" for earlier in range(number + 1)
        ]
        assert captures.damage == []
    writer.close()


def test_a_directory_without_records_is_an_empty_capture(tmp_path: Path) -> None:
    CaptureWriter(tmp_path / "c", "w0").close()
    captures = open_captures(tmp_path / "c")
    assert (list(captures.exchanges()), captures.session_ids(), captures.damage) == ([], [], [])


def test_files_are_private(tmp_path: Path, make_exchange: MakeExchange) -> None:
    before = os.umask(0)
    try:
        writer = CaptureWriter(tmp_path / "c", "w0")
        write(writer, make_exchange(1))
    finally:
        os.umask(before)
    writer.close()
    assert stat.S_IMODE((tmp_path / "c").stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "c").iterdir()} == {0o600}


def test_one_file_per_session_worker_and_run(tmp_path: Path, make_exchange: MakeExchange) -> None:
    for worker in ("w0", "w1", "w1"):
        writer = CaptureWriter(tmp_path, worker)
        for session in ("a", None):
            write(writer, make_exchange(1, session))
        writer.close()
    assert len(segment_files(tmp_path)) == 6


def test_names_and_directories_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="worker"):
        CaptureWriter(tmp_path / "c", "a/b")
    (tmp_path / "mine").touch()
    with pytest.raises(InputError, match="neither empty nor"):
        CaptureWriter(tmp_path, "w0")


def test_a_frame_holds_64_records_and_close_ends_it(tmp_path: Path, make_exchange: MakeExchange) -> None:
    writer = CaptureWriter(tmp_path, "w0")
    for number in range(70):
        write(writer, make_exchange(number))
    writer.close()
    assert frames(tmp_path) == [64, 64, 12]
    assert len(stored(tmp_path)) == 70


def test_idle_files_are_released_and_reopened_at_a_new_frame(tmp_path: Path, make_exchange: MakeExchange) -> None:
    writer = CaptureWriter(tmp_path, "w0")
    first, second = make_exchange(1), make_exchange(2)
    write(writer, first)
    writer.release_idle(first[1].t_end_us + IDLE_US - 1)
    assert writer._open
    writer.release_idle(first[1].t_end_us + IDLE_US)
    assert not writer._open
    write(writer, second)
    writer.close()
    assert frames(tmp_path) == [2, 2]
    assert stored(tmp_path) == [first, second]


def test_only_so_many_files_stay_open(
    tmp_path: Path, make_exchange: MakeExchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "OPEN_FILES", 3)
    writer = CaptureWriter(tmp_path, "w0")
    pairs = [make_exchange(number, f"s{number % 5}") for number in range(20)]
    for pair in pairs:
        write(writer, pair)
        assert len(writer._open) <= 3
    writer.close()
    captures = open_captures(tmp_path)
    assert [(exchange.request, exchange.response) for exchange in captures.exchanges()] == pairs
    assert captures.damage == []


def test_a_quarter_of_the_descriptors_is_the_most(
    tmp_path: Path, make_exchange: MakeExchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _what: (13, 4096))
    writer = CaptureWriter(tmp_path, "w0")
    for number in range(9):
        write(writer, make_exchange(number, f"s{number}"))
    assert len(writer._open) == 3
    writer.close()
    assert len(stored(tmp_path)) == 9


def test_open_files_hold_only_so_much_memory_together(
    tmp_path: Path, make_exchange: MakeExchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "HELD_BYTES", 8_000_000)
    writer = CaptureWriter(tmp_path, "w0")
    pairs = [make_exchange(number, f"s{number % 7}", body=os.urandom(700_000)) for number in range(14)]
    for pair in pairs:
        write(writer, pair)
        assert writer._held_bytes == sum(segment.held_bytes for segment in writer._open.values())
        assert writer._held_bytes <= 8_000_000 + 2_500_000  # and what the record itself brought
    assert len(writer._open) >= 3
    writer.close()
    captures = open_captures(tmp_path)
    assert [(exchange.request, exchange.response) for exchange in captures.exchanges()] == pairs


def test_a_full_disk_raises_and_costs_only_the_record_it_hits(tmp_path: Path, make_exchange: MakeExchange) -> None:
    writer = CaptureWriter(tmp_path, "w0")
    first, second = make_exchange(1), make_exchange(2)
    big = make_exchange(3, body=os.urandom(400_000))
    write(writer, first)
    (file,) = segment_files(tmp_path)
    size = file.stat().st_size
    with file_size_limit(size + 1000), pytest.raises(OSError) as failure:
        writer.write_request(big[0])
    assert failure.value.errno == errno.EFBIG
    assert file.stat().st_size == size, "the half record was cut off"
    write(writer, second)
    writer.close()
    captures = open_captures(tmp_path)
    assert [(exchange.request, exchange.response) for exchange in captures.exchanges()] == [first, second]
    assert captures.damage == []
    assert frames(tmp_path) == [2, 2]


def test_a_rest_that_cannot_be_cut_off_is_read_over(
    tmp_path: Path, make_exchange: MakeExchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = CaptureWriter(tmp_path, "w0")
    pairs = [make_exchange(1), make_exchange(2)]
    write(writer, pairs[0])
    (file,) = segment_files(tmp_path)

    def refuse(*_: object) -> None:
        raise OSError(errno.EIO, "broken")

    with monkeypatch.context() as broken, file_size_limit(file.stat().st_size + 1000):
        broken.setattr(os, "ftruncate", refuse)
        with pytest.raises(OSError, match="large"):
            writer.write_request(make_exchange(3, body=os.urandom(400_000))[0])
    write(writer, pairs[1])
    writer.close()
    captures = open_captures(tmp_path)
    assert [(exchange.request, exchange.response) for exchange in captures.exchanges()] == pairs
    assert len(captures.damage) == 1


def test_close_closes_all_files_even_when_one_fails(
    tmp_path: Path, make_exchange: MakeExchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = CaptureWriter(tmp_path, "w0")
    pairs = [make_exchange(number, f"s{number}") for number in range(3)]
    for pair in pairs:
        write(writer, pair)
    descriptors = [segment._descriptor for segment in writer._open.values()]
    real, failing = writer_module._sync_data, descriptors[1]

    def sync_data(descriptor: int) -> None:
        if descriptor == failing:
            raise OSError(errno.EIO, "broken")
        real(descriptor)

    monkeypatch.setattr(writer_module, "_sync_data", sync_data)
    with pytest.raises(OSError, match="broken"):
        writer.close()
    for descriptor in descriptors:
        assert descriptor is not None
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)
    assert stored(tmp_path) == pairs


def test_sync_touches_only_what_changed(
    tmp_path: Path, make_exchange: MakeExchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(writer_module, "_sync_data", synced.append)
    writer = CaptureWriter(tmp_path, "w0")
    for session in ("a", "b"):
        write(writer, make_exchange(1, session))
    writer.sync()
    writer.sync()
    assert len(synced) == 2
    write(writer, make_exchange(2, "b"))
    writer.sync()
    assert len(synced) == 3
    writer.close()


KILLED = """
import dataclasses, itertools, sys
from pathlib import Path
from corpus.capture.writer import CaptureWriter
from corpus.exchange import Identity, RequestRecord
writer = CaptureWriter(Path(sys.argv[1]), "w0")
for number in itertools.count():
    body = b"history " * number * 100
    writer.write_request(RequestRecord(f"x{number:06}", number, number, "POST", "/v1/messages", "anthropic-messages",
        "u", (), Identity(session_id="s"), None, len(body), body))
    print(number, flush=True)
"""


@pytest.mark.parametrize("records", [1, 40, 150])
def test_a_killed_writer_loses_at_most_the_record_in_flight(tmp_path: Path, records: int) -> None:
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-c", KILLED, str(tmp_path / "c")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdout is not None
        while int(process.stdout.readline()) < records:
            pass
        process.send_signal(signal.SIGKILL)
        written = records + 1 + len(process.stdout.read().splitlines())
    captures = open_captures(tmp_path / "c")
    exchanges = list(captures.exchanges())
    assert written <= len(exchanges) <= written + 1
    assert [exchange.request.exchange_id for exchange in exchanges] == [f"x{n:06}" for n in range(len(exchanges))]
    assert all(exchange.end == "unknown" for exchange in exchanges)
    assert len(captures.damage) <= 1
