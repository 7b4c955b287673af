from __future__ import annotations

from proxy.tally import SessionCount
from proxy.totals import RecordTotals, Snapshot, merged, totals_of


def test_workers_are_added_up() -> None:
    one = Snapshot(
        open=1,
        backlog_bytes=5,
        counts={"requests": 2, "end:complete": 1},
        sessions=(SessionCount("s", "codex", None, {"a"}, 2, 1, 10, 5, 7), SessionCount("t", requests=1, t_last_us=9)),
        last_error=(4, "old"),
    )
    other = Snapshot(
        open=2,
        counts={"requests": 3, "gap:disk": 1},
        sessions=(SessionCount("s", None, "m", {"b"}, 3, 0, 20, 1, 6),),
        last_error=(8, "new"),
    )
    both = merged((one, other))
    assert (both.open, both.backlog_bytes, both.workers, both.last_error) == (3, 5, 2, (8, "new"))
    assert both.counts == {"requests": 5, "end:complete": 1, "gap:disk": 1}
    assert both.sessions == (SessionCount("s", "codex", "m", {"a", "b"}, 5, 1, 30, 1, 7), one.sessions[1])


def test_paused_only_where_all_are() -> None:
    assert merged((Snapshot(paused=True), Snapshot(paused=True))).paused
    assert not merged((Snapshot(paused=True), Snapshot())).paused
    assert not merged(()).paused


def test_totals_sort_counts_by_kind() -> None:
    counts = {
        "requests": 1,
        "end:complete": 2,
        "end:timeout": 1,
        "gap:paused": 3,
        "refused:401": 4,
        "dropped": 5,
        "unnamed": 6,
    }
    assert totals_of(Snapshot(counts=counts)) == RecordTotals(
        requests=1, dropped=5, unnamed=6, ends={"complete": 2, "timeout": 1}, gaps={"paused": 3}, refused={"401": 4}
    )
