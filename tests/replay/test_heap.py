from __future__ import annotations

import gc

from replay.heap import settled_heap, uncollected


def test_what_is_made_uncollected_is_left_alone_until_the_heap_is_not_settled_any_more() -> None:
    with settled_heap():
        before = gc.get_freeze_count()
        with uncollected():
            assert not gc.isenabled()
            made = [[number] for number in range(10_000)]
        assert gc.isenabled()
        assert gc.get_freeze_count() >= before + len(made)
    assert gc.get_freeze_count() == 0


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
        gc.unfreeze()
