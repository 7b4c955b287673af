from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.tolerance import LEAST_FAILURES, Tolerance


def counted(share: float, good: int, failed: int) -> Tolerance:
    tolerance = Tolerance(share)
    for _ in range(good):
        tolerance.count("profile", None)
    for _ in range(failed):
        tolerance.count("profile", "http_5xx")
    return tolerance


def test_a_few_failures_never_stop_a_run() -> None:
    assert counted(0.0, 0, LEAST_FAILURES - 1).verdict("profile") is None


@given(share=st.floats(0, 1), good=st.integers(0, 200), failed=st.integers(LEAST_FAILURES, 100))
def test_more_than_the_share_stops_it(share: float, good: int, failed: int) -> None:
    assert (counted(share, good, failed).verdict("profile") is not None) == (failed > share * (good + failed))


def test_phases_are_judged_apart_and_the_reason_names_the_classes() -> None:
    tolerance = counted(0.1, 20, 6)
    for _ in range(6):
        tolerance.count("profile", "timeout")
    assert tolerance.verdict("warmup") is None
    reason = tolerance.verdict("profile")
    assert reason == "12 of 32 profiling requests failed (6 http_5xx, 6 timeout), more than 10%"


@pytest.mark.parametrize("share", [1.0])
def test_a_share_of_one_tolerates_everything(share: float) -> None:
    assert counted(share, 0, 500).verdict("profile") is None
