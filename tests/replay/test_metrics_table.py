from __future__ import annotations

from corpus.server_metrics import METRICS
from replay.metrics_table import READINGS


def test_every_row_gives_a_name_that_readers_know() -> None:
    assert {reading.name for reading in READINGS} == METRICS.keys()


def test_no_row_repeats_another() -> None:
    keys = [(r.name, r.metrics, tuple(sorted(r.labels.items()))) for r in READINGS]
    assert len(keys) == len(set(keys))


def test_only_shares_are_averaged() -> None:
    assert {reading.name for reading in READINGS if reading.mean} == {"kv_used_share"}
