from __future__ import annotations

import time

import pytest

from proxy.engine import exchange_ids, steady_clock


def test_exchange_ids_sort_by_time_and_never_repeat() -> None:
    first, second = exchange_ids(), exchange_ids()
    ids = [first(1), first(1), second(1), first(2), first(10**15)]
    assert len(set(ids)) == len(ids)
    assert sorted(ids)[-2:] == ids[-2:]
    assert ids[0] < ids[1]


def test_clock_tells_unix_time_and_never_steps_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = steady_clock()
    assert abs(clock() - time.time_ns() // 1000) < 60_000_000
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    assert clock() > 1_500_000_000_000_000
