from __future__ import annotations

import errno
import itertools
import threading
from dataclasses import replace

import pytest

from corpus.exchange import GapRecord, Identity, RequestRecord, ResponseRecord
from proxy.annotator import Annotator
from proxy.backlog import Backlog
from proxy.scribe import REST_US, RESTING_BYTES, Fsync, Scribe

REQUEST = RequestRecord("e1", 1, 2, "POST", "/x", "other", "u", (), Identity(), None, 3, b"ask")
RESPONSE = ResponseRecord("e1", "complete", 200, (), 3, 4, 5, (6,), (1,), None, None, 6, b"answer")


class Notes:
    """A pen that remembers what it was asked to do, and fails on the records named in `full_at`."""

    def __init__(self, full_at: tuple[str, ...] = ()) -> None:
        self.calls: list[str] = []
        self.full_at = full_at
        self.threads: set[int] = set()

    def _note(self, call: str) -> None:
        self.threads.add(threading.get_ident())
        self.calls.append(call)
        if call in self.full_at:
            raise OSError(errno.ENOSPC, "No space left on device")

    def write_request(self, record: RequestRecord, /) -> None:
        self._note(f"request {record.exchange_id}")

    def write_response(self, session_id: str | None, record: ResponseRecord, /) -> None:
        self._note(f"response {record.exchange_id}")

    def write_gap(self, record: GapRecord, /) -> None:
        self._note(f"gap {record.cause} {record.count}")

    def sync(self) -> None:
        self._note("sync")

    def release_idle(self, now_us: int, /) -> None:
        self._note("release")

    def close(self) -> None:
        self._note("close")


def write(pen: Notes, *records: RequestRecord | ResponseRecord, fsync: Fsync = "never", step_us: int = 0) -> Scribe:
    backlog, ticks = Backlog(), itertools.count(0, step_us or 1)
    for record in records:
        backlog.put(record)
    backlog.close()  # so that the thread never waits, and its calls are always the same
    scribe = Scribe(backlog, pen, fsync, lambda: next(ticks))
    scribe.start()
    scribe.finish()
    return scribe


def test_everything_is_written_before_the_files_are_closed() -> None:
    pen = Notes()
    scribe = write(pen, REQUEST, RESPONSE)
    assert pen.calls == ["request e1", "response e1", "close"]
    assert scribe.counts["requests"] == scribe.counts["responses"] == scribe.counts["end:complete"] == 1
    assert threading.get_ident() not in pen.threads


@pytest.mark.parametrize(
    ("fsync", "calls"),
    [
        ("never", ["request e1", "release", "response e1", "release", "close"]),
        ("always", ["request e1", "sync", "release", "response e1", "sync", "release", "close"]),
        ("interval", ["request e1", "sync", "release", "response e1", "sync", "release", "close"]),
    ],
)
def test_policy_decides_when_records_are_made_durable(fsync: Fsync, calls: list[str]) -> None:
    pen = Notes()
    write(pen, REQUEST, RESPONSE, fsync=fsync, step_us=2_000_000)
    assert pen.calls == calls


def test_interval_does_not_sync_twice_in_a_second() -> None:
    pen = Notes()
    write(pen, *(replace(REQUEST, exchange_id=f"e{number}") for number in range(10)), fsync="interval", step_us=150_000)
    assert pen.calls.count("sync") <= 3


def test_what_could_not_be_written_is_a_gap_once_writing_works_again() -> None:
    pen = Notes(full_at=("request e1",))
    write(pen, REQUEST, RESPONSE)
    assert pen.calls == ["request e1", "response e1", "gap disk 1", "close"]


def test_a_gap_that_cannot_be_written_is_kept_and_grows() -> None:
    pen = Notes(full_at=("request e1", "response e1", "gap disk 1"))
    write(pen, REQUEST, RESPONSE, step_us=2_000_000)
    gaps = [call for call in pen.calls if call.startswith("gap")]
    assert gaps == ["gap disk 1", "gap disk 2", "gap disk 2"][: len(gaps)]
    assert gaps[-1] == "gap disk 2"


def test_full_disk_is_counted_and_writing_goes_on() -> None:
    pen = Notes(full_at=("request e1", "sync"))
    scribe = write(pen, REQUEST, RESPONSE, fsync="always")
    assert scribe.counts["write_errors"] == 2
    assert scribe.counts["requests"] == 0
    assert pen.calls[-1] == "close"


def test_a_record_rests_before_it_is_parsed_but_not_longer_than_it_has_to(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(Backlog, "wait_closed", lambda _self, timeout_s: waits.append(timeout_s))
    now_us = 5_000_000
    backlog = Backlog()
    for record in (replace(REQUEST, t_body_us=now_us), replace(RESPONSE, t_end_us=now_us - REST_US // 2), REQUEST):
        backlog.put(record)
    backlog.close()
    scribe = Scribe(backlog, Notes(), "never", lambda: now_us)
    scribe.start()
    scribe.finish()
    assert waits[:2] == [REST_US / 1e6, REST_US / 2e6]
    assert waits[2] < 0


def test_what_cannot_be_read_for_a_fault_of_ours_is_stored_as_it_was_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(Annotator, "annotate_request", fail)
    monkeypatch.setattr(Annotator, "annotate_response", fail)
    pen = Notes()
    scribe = write(pen, REQUEST, RESPONSE)
    assert pen.calls == ["request e1", "response e1", "close"]
    assert (scribe.counts["unnamed"], scribe.counts["write_errors"]) == (2, 0)


def test_nothing_rests_while_much_is_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(Backlog, "wait_closed", lambda _self, timeout_s: waits.append(timeout_s))
    backlog = Backlog()
    for number in range(3):
        body = bytes(RESTING_BYTES // 2)
        backlog.put(replace(REQUEST, exchange_id=f"e{number}", t_body_us=5_000_000, body=body))
    backlog.close()
    scribe = Scribe(backlog, Notes(), "never", lambda: 5_000_000)
    scribe.start()
    scribe.finish()
    assert len(waits) == 2  # behind the first there was more than that
