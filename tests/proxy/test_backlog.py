from __future__ import annotations

import threading
from dataclasses import replace

from corpus.exchange import Identity, RequestRecord, ResponseRecord
from proxy.backlog import DROPPED_NOTE, Backlog

REQUEST = RequestRecord(
    "e", 1, 2, "POST", "/v1/messages", "anthropic-messages", "u", (), Identity(), None, 8000, b"x" * 8000
)
RESPONSE = ResponseRecord("e", "complete", 200, (), 3, 4, 5, (8000,), (1,), None, None, 8000, b"x" * 8000)


def test_records_come_out_in_order() -> None:
    backlog = Backlog()
    backlog.put(REQUEST)
    backlog.put(RESPONSE)
    assert backlog.take(0) is REQUEST
    assert backlog.take(0) is RESPONSE
    assert backlog.take(0) is None
    assert backlog.dropped == 0


def test_full_backlog_drops_bodies_and_says_so() -> None:
    backlog = Backlog(max_bytes=120_000)
    for _ in range(11):
        backlog.put(REQUEST)
    backlog.put(REQUEST)
    backlog.put(RESPONSE)
    records = [backlog.take(0) for _ in range(13)]
    assert records[10] is REQUEST
    emptied, answer = records[11:]
    assert isinstance(emptied, RequestRecord)
    assert (emptied.body, emptied.body_bytes) == (b"", 8000)
    assert isinstance(answer, ResponseRecord)
    assert (answer.body, answer.body_bytes, answer.error) == (b"", 0, DROPPED_NOTE)
    assert backlog.dropped == 2


def test_room_comes_back_as_records_are_taken() -> None:
    backlog = Backlog(max_bytes=12_000)
    for _ in range(5):
        backlog.put(REQUEST)
        assert backlog.take(0) is REQUEST
    assert backlog.dropped == 0


def test_records_without_bodies_are_bounded_too() -> None:
    backlog = Backlog(max_bytes=16_000)
    for _ in range(100):
        backlog.put(replace(REQUEST, body=b""))
    taken = 0
    while backlog.take(0) is not None:
        taken += 1
    assert taken == 8  # 2 KB each in 16 KB and an eighth
    assert backlog.dropped == 100 - taken


def test_closed_backlog_can_be_drained_but_takes_nothing_in() -> None:
    backlog = Backlog()
    backlog.put(REQUEST)
    backlog.close()
    backlog.put(RESPONSE)
    assert [backlog.drained, backlog.take(0), backlog.drained] == [False, REQUEST, True]
    assert backlog.dropped == 1


def test_every_loss_is_noted_as_a_gap() -> None:
    causes: list[str] = []
    backlog = Backlog(max_bytes=20_000, note_gap=causes.append)
    for _ in range(4):
        backlog.put(REQUEST)
    assert causes == ["backlog"] * backlog.dropped
    assert backlog.dropped > 1
    assert 0 < backlog.held_bytes <= 20_000 + 20_000 // 8


def test_waiting_for_the_close_ends_with_it() -> None:
    backlog = Backlog()
    backlog.wait_closed(-1)
    waiting = threading.Thread(target=backlog.wait_closed, args=(600,))
    waiting.start()
    backlog.close()
    waiting.join(30)
    assert not waiting.is_alive()
