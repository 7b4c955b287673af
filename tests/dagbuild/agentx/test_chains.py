from __future__ import annotations

import pytest

from dagbuild.agentx.chains import Detected, detect_chains
from dagbuild.agentx.entries import entries_of
from dagbuild.prefixes import Prefixes
from tests.dagbuild.agentx.traces import EDGE_CASES, Json, call, ids, session, trace


def detect(found: Json) -> Detected:
    made = session(found)
    prefixes = Prefixes(made.requests)
    return detect_chains(entries_of(made, prefixes.counts).calls, prefixes, made.requests)


def places(found: Json) -> list[list[int]]:
    detected = detect(found)
    return [[one.place for one in calls] for calls in (detected.main, *(chain.calls for chain in detected.workers))]


@pytest.mark.parametrize(
    ("name", "chains"),
    [
        ("linear", [[0, 1, 2]]),
        ("compaction", [[0, 1, 2]]),
        ("compaction_then_fork", [[0, 1, 3], [2, 4]]),
        ("seam_after_an_hour", [[0], [1]]),
        ("seam_at_an_hour", [[0, 1]]),
        ("long_seam_that_keeps_half", [[0, 1]]),
        ("model_switch", [[0, 2], [1]]),
        ("overlap_and_pull_back", [[0, 1, 4], [2, 5], [3]]),
        ("fan_out", [[0, 5], [1], [2], [3], [4]]),
        ("no_blocks", [[0, 1, 2, 3]]),
        ("no_duration", [[0, 1, 2]]),
        ("out_of_order", [[1, 2, 0]]),
        ("preamble", [[0, 1, 2]]),
        ("large_preamble", [[0, 1, 2]]),
        ("no_preamble_when_reused", [[0], [1, 2]]),
    ],
)
def test_requests_fall_into_chains(name: str, chains: list[list[int]]) -> None:
    assert places(EDGE_CASES[name]) == chains


def test_a_preamble_is_no_yardstick() -> None:
    assert [one.place for one in detect(EDGE_CASES["preamble"]).yardstick] == [1, 2]


def test_a_fork_knows_where_it_left_and_how_deep() -> None:
    fork = detect(EDGE_CASES["fan_out"]).workers[0]
    assert fork.fork_of is not None
    assert (fork.fork_of.place, fork.depth) == (0, 290)


def test_what_shares_nothing_forks_from_nothing() -> None:
    fork = detect(EDGE_CASES["one_off_joins"]).workers[0]
    assert (fork.fork_of, fork.depth) == (None, 0)


def test_the_deepest_ended_chain_is_extended() -> None:
    found = trace(
        "t",
        call(0, 1, ids(10)),
        call(2, 9, ids(20)),
        call(3, 1, ids(15, (500, 9))),
        call(12, 1, ids(15, (500, 12))),
        call(14, 1, ids(30)),
    )
    assert places(found) == [[0, 1, 4], [2, 3]]


def test_no_requests_give_no_chain() -> None:
    prefixes = Prefixes(())
    assert detect_chains([], prefixes, []).main == []
