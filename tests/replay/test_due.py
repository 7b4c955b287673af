from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from replay.due import DueQueue, Entry

ENTRIES = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 3), st.integers(0, 9)), max_size=40)


def queue_of(entries: list[Entry]) -> DueQueue:
    queue = DueQueue()
    for entry in entries:
        queue.push(*entry)
    return queue


def emptied(queue: DueQueue, now_us: int = 1000) -> list[Entry]:
    found = []
    while entry := queue.pop(now_us):
        found.append(entry)
    return found


@given(ENTRIES, st.integers(0, 60))
def test_what_is_due_comes_out_in_order_and_the_rest_stays(entries: list[Entry], now: int) -> None:
    queue = queue_of(entries)
    assert queue.until(now) == sorted(entry for entry in entries if entry[0] <= now)
    assert emptied(queue, now) == sorted(entry for entry in entries if entry[0] <= now)
    assert len(queue) == sum(entry[0] > now for entry in entries)
    assert queue.next_us == min((entry[0] for entry in entries if entry[0] > now), default=None)


@given(ENTRIES, st.integers(0, 3))
def test_one_play_can_be_moved_without_the_others(entries: list[Entry], play: int) -> None:
    queue = queue_of(entries)
    assert queue.first_of(play) == min((due for due, of, _ in entries if of == play), default=None)
    queue.move(play, lambda _play, request: 100 + request)
    assert emptied(queue) == sorted((100 + n if of == play else due, of, n) for due, of, n in entries)


@given(ENTRIES)
def test_all_can_be_moved_and_some_dropped(entries: list[Entry]) -> None:
    queue = queue_of(entries)
    queue.move(None, lambda play, request: 10 * play + request)
    queue.keep(lambda play, _request: play != 1)
    assert emptied(queue) == sorted((10 * of + n, of, n) for _, of, n in entries if of != 1)
