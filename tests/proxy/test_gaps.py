from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corpus.exchange import GapCause, GapRecord
from proxy.gaps import Gaps


def test_what_is_missing_is_one_stretch_per_cause() -> None:
    gaps = Gaps()
    for t_us in (7, 3, 9):
        gaps.note("disk", t_us)
    gaps.note("paused", 5)
    assert gaps.take() == [GapRecord("disk", 3, 9, 3), GapRecord("paused", 5, 5, 1)]
    assert gaps.take() == []
    assert gaps.total == {"disk": 3, "paused": 1}


CAUSES = st.sampled_from(("disk", "backlog", "fault"))


@given(st.lists(st.tuples(CAUSES, st.integers(0, 99), st.booleans())))
def test_nothing_is_lost_by_giving_back(steps: list[tuple[GapCause, int, bool]]) -> None:
    gaps = Gaps()
    written = 0
    for cause, t_us, can_write in steps:
        gaps.note(cause, t_us)
        taken = gaps.take()
        if can_write:
            written += sum(gap.count for gap in taken)
        else:
            gaps.give_back(taken)
    assert written + sum(gap.count for gap in gaps.take()) == len(steps) == gaps.total.total()
