"""`replay --compat agentx` against the harness: start points, history, primers and what profiling begins with."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentreel.agentx import agentx_graph
from corpus.errors import InputError
from corpus.formats.weka import read_weka
from corpus.session import Session
from dagbuild.agentx.graph import build_graph
from replay.commands import ScheduleRules
from replay.lanes import Lanes
from replay.plan import PlanRules, plan_session
from replay.play import Play
from tests.dagbuild.agentx.traces import EDGE_CASES, random_trace
from tests.peers import agentx_peer
from tests.peers.test_agentx import BENCH, REAL, write

CHOICES = Path(__file__).with_name("agentx_choices.py")
RULES = PlanRules(idle_cap_us=None, speedup=1, max_context=None)
HALF_A_MICROSECOND_MS = 0.001  # our clock counts whole ones

Turn = tuple[str, int]


@pytest.fixture(scope="session")
def python() -> Path:
    found = agentx_peer.install()
    if found is None:
        pytest.skip(f"{agentx_peer.RECIPE} is not to be had here")
    return found


class Ours:
    """What a run over the sessions would do, in the harness's words."""

    def __init__(self, sessions: Sequence[Session], concurrency: int, seed: int) -> None:
        plans = [plan_session(session, RULES, agentx_graph) for session in sessions]
        self._names = {session.session: turn_names(session) for session in sessions}
        lanes = Lanes(plans, ScheduleRules(concurrency, "steady", 1, seed, method="agentx", idle_cap_us=300_000_000))
        taken = [lanes.take_midway(lane, 0) for lane in range(concurrency)]
        self.plays = [play for play, _ in taken]
        longest = max(lead for _, leads in taken for lead in leads.values())
        self.primers = [{self.name(play, n): longest - lead for n, lead in leads.items()} for play, leads in taken]
        for play, leads in taken:
            for number in leads:
                play.take(number)
                play.end(number, 0)
        fronts = [play.fronts() for play in self.plays]
        nearest = min(offset for found in fronts for offset in found.values())
        self.fronts = [
            {self.name(play, n): offset - nearest for n, offset in found.items()}
            for play, found in zip(self.plays, fronts, strict=True)
        ]

    def name(self, play: Play, request: int) -> Turn:
        return self._names[play.plan.session][request]

    def t_star_ms(self, lane: int) -> float:
        first = self.plays[lane].plan.requests[0]
        return (self.plays[lane].origin_us - first.offset_us + first.recorded_start_us) / 1000

    def history(self, lane: int) -> dict[str, int]:
        """Turns of each stream that are over when the play goes on from its primers."""
        play = self.plays[lane]
        over = [self.name(play, r.request) for r in play.plan.requests if r.request not in play.unsent]
        return {stream: 1 + max(turn for of, turn in over if of == stream) for stream, _ in over}

    def gated(self, lane: int) -> set[Turn]:
        """Turns of the main stream that are next but wait for children."""
        play = self.plays[lane]
        joins = {branch_join for branch_join in play.fronts() if branch_join not in play.free()}
        return {self.name(play, number) for number in joins}

    def before_their_spawn(self, lane: int) -> set[Turn]:
        play = self.plays[lane]
        starts = {r.request: r.offset_us for r in play.plan.requests}
        return {
            self.name(play, r.request)
            for r in play.unsent.values()
            if self.name(play, r.request)[1] == 0 and r.waits and starts[r.waits[0].src] >= play.origin_us
        }


def turn_names(session: Session) -> dict[int, Turn]:
    streams = build_graph(session).streams
    return {call.request: (stream.name, turn) for stream in streams for turn, call in enumerate(stream.calls)}


def assert_equal(python: Path, folder: Path, concurrency: int, seed: int) -> None:
    command = [str(python), str(CHOICES), str(folder), str(concurrency), str(seed)]
    theirs: Any = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    ours = Ours(list(read_weka(folder)), concurrency, seed)
    assert len(theirs["lanes"]) == concurrency
    warmup = {(stream, turn): after_s for after_s, stream, turn, _ in theirs["warmup"]}
    for lane, expected in enumerate(theirs["lanes"]):
        assert ours.plays[lane].plan.label == expected["root"]
        assert ours.t_star_ms(lane) == pytest.approx(expected["t_star_ms"], abs=HALF_A_MICROSECOND_MS)
        assert ours.history(lane) == expected["done"]
        assert sorted(ours.primers[lane]) == [tuple(primer) for primer in expected["primers"]]
    once = concurrency <= len(list(folder.glob("*.json")))  # names tell lanes apart
    if once:
        due = {name: us / 1e6 for lane in ours.primers for name, us in lane.items()}
        assert due == pytest.approx(warmup, abs=2e-6)
        assert {tokens for *_, tokens in theirs["warmup"]} == {1}
        assert_first_profiled(ours, theirs)
    assert_markers(theirs)


def assert_first_profiled(ours: Ours, theirs: Any) -> None:
    """The harness issues what is next in each stream but turns that wait for children, which it resumes later.

    Where a file is so out of order that a branch began before the turn that spawned it, the harness sends the branch's
    first turn without that one; here it waits.
    """
    expected = {(stream, turn): after_s for after_s, stream, turn, _ in theirs["profile"]}
    fronts = {name: us / 1e6 for lane in ours.fronts for name, us in lane.items()}
    gated = {name for lane in range(len(ours.plays)) for name in ours.gated(lane)}
    unspawned = expected.keys() - fronts.keys()
    assert unspawned <= {name for lane in range(len(ours.plays)) for name in ours.before_their_spawn(lane)}
    found = {name: after_s for name, after_s in fronts.items() if name in expected}
    assert found == pytest.approx({name: expected[name] for name in found}, abs=2e-6)
    assert fronts.keys() - expected.keys() <= gated


def assert_markers(theirs: Any) -> None:
    """One for each play: sharing a marker is what sharing a play number is here."""
    markers = [marker for _, marker in theirs["markers"]]
    assert len(set(markers)) == len(markers)


@pytest.mark.skipif(not BENCH.is_dir(), reason="the synthetic sessions are not on this machine")
@pytest.mark.parametrize(("concurrency", "seed"), [(8, 42), (20, 42), (20, 7), (33, 1)])
def test_synthetic_sessions(python: Path, concurrency: int, seed: int) -> None:
    assert_equal(python, BENCH / "weka20", concurrency, seed)


@pytest.mark.skipif(not BENCH.is_dir(), reason="the generator of synthetic sessions is not on this machine")
def test_generated_sessions(python: Path, tmp_path: Path) -> None:
    generate = [sys.executable, str(BENCH / "gen_weka.py"), str(tmp_path), "--seed", "7"]
    subprocess.run(generate, check=True, capture_output=True)
    assert_equal(python, tmp_path, len(list(tmp_path.glob("*.json"))), 42)


@pytest.mark.skipif(not REAL.is_dir(), reason="the public traces are not on this machine")
@pytest.mark.parametrize("seed", [42, 3])
def test_real_sessions(python: Path, seed: int) -> None:
    assert_equal(python, REAL, len(list(REAL.glob("*.json"))), seed)


@pytest.mark.parametrize("seed", [42, 5])
def test_random_traces_and_edge_cases(python: Path, tmp_path: Path, seed: int) -> None:
    traces = [*EDGE_CASES.values(), *(random_trace(f"random-{number:04d}", number) for number in range(300))]
    write(tmp_path, traces)
    for path in sorted(tmp_path.glob("*.json")):
        try:
            for session in read_weka(path):
                plan_session(session, RULES, agentx_graph)
        except InputError:
            path.unlink()  # the harness refuses the same ones: see test_agentx
    assert len(list(tmp_path.glob("*.json"))) > 200
    assert_equal(python, tmp_path, len(list(tmp_path.glob("*.json"))), seed)
