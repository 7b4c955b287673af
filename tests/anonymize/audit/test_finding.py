from __future__ import annotations

from anonymize.audit.finding import NAMES, Finding
from anonymize.audit.live import LIVE


def test_there_are_fourteen_tests_in_order_with_names_of_their_own() -> None:
    assert list(NAMES) == [f"T{number}" for number in range(1, 15)]
    assert len(set(NAMES.values())) == 14
    assert Finding("T2", ok=True, detail="").name == NAMES["T2"]


def test_what_only_a_build_can_run_is_among_them() -> None:
    assert set(LIVE) < set(NAMES)
