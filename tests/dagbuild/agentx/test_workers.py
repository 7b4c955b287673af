from __future__ import annotations

import pytest

from dagbuild.agentx.chains import Chain
from dagbuild.agentx.entries import Call
from dagbuild.agentx.graph import build_graph
from dagbuild.agentx.workers import is_one_off, worker_names
from tests.dagbuild.agentx.traces import EDGE_CASES, session


def made(tokens: int, out: int = 100, model: int = 0, place: int = 0, start_s: float = 0, api_s: float = 1) -> Call:
    return Call(place, place, start_s, api_s, model, max(1, tokens // 64), tokens, out)


MAIN = [made(400_000)]


@pytest.mark.parametrize(
    ("calls", "one_off"),
    [
        ([made(39_999)], True),  # below a tenth of main's peak
        ([made(40_000, 5000)], False),
        ([made(80_001, 3999)], True),  # a reduction
        ([made(90_000, model=1)], True),
        ([made(100), made(100)], False),
    ],
)
def test_one_offs_are_single_and_small_or_reducing_or_on_another_model(calls: list[Call], one_off: bool) -> None:
    assert is_one_off(calls, MAIN) is one_off


@pytest.mark.parametrize(
    ("name", "suffixes"),
    [
        ("fan_out", ["wg:000_000", "wg:000_001", "wg:000_002", "wg:000_003"]),
        ("fan_out_one_after_the_other", [f"fa:00{n}" for n in range(4)]),
        ("fan_out_of_longer_prompts", ["fa:000", "wg:000_000", "wg:000_001", "wg:000_002"]),  # three left the first
        ("reduction", ["aux:000"]),
        ("one_off_joins", ["aux:000"]),
    ],
)
def test_workers_are_named_by_what_they_are(name: str, suffixes: list[str]) -> None:
    found = build_graph(session(EDGE_CASES[name]))
    assert [stream.name.partition("::")[2] for stream in found.streams[1:]] == suffixes


def test_two_beside_each_other_are_no_group() -> None:
    fork = made(400_000, 5000)
    workers = [Chain(n, [made(90_000, 5000, place=n, start_s=n, api_s=5)], fork_of=fork, depth=9) for n in range(2)]
    assert worker_names(workers, MAIN) == ["fa:000", "fa:001"]
