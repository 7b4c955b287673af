"""`graph --compat agentx` against the harness itself: every stream, branch, delay, join and predecessor is equal."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from corpus.errors import InputError
from corpus.formats.weka import read_weka
from dagbuild.agentx.graph import agentx_documents
from tests.dagbuild.agentx.traces import EDGE_CASES, Json, random_trace
from tests.peers import agentx_peer

BENCH = agentx_peer.ROOT.parent / "shared" / "peer-bench"
REAL = agentx_peer.ROOT.parent / "shared" / "traces" / "weka"
RANDOM_TRACES = 600


@pytest.fixture(scope="session")
def python() -> Path:
    found = agentx_peer.install()
    if found is None:
        pytest.skip(f"{agentx_peer.RECIPE} is not to be had here")
    return found


def write(folder: Path, traces: Iterable[Json]) -> Path:
    for found in traces:
        (folder / f"{found['id']}.json").write_text(json.dumps(found))
    return folder


def ours(path: Path) -> Any:
    try:
        return [document for session in read_weka(path) for document in agentx_documents(session)]
    except InputError as refused:
        return {"refused": str(refused)}


def assert_equal(python: Path, folder: Path) -> int:
    """The number of traces that both refuse."""
    theirs = agentx_peer.ask(python, folder)
    assert len(theirs) == len(list(folder.glob("*.json"))) > 0
    refused = 0
    for name, expected in theirs.items():
        found = ours(folder / f"{name}.json")
        if "refused" in expected:
            assert "refused" in found, (name, expected)
            refused += 1
        else:
            assert found == expected, name
    return refused


def test_hand_made_edge_cases(python: Path, tmp_path: Path) -> None:
    assert assert_equal(python, write(tmp_path, EDGE_CASES.values())) == 0


def test_random_traces(python: Path, tmp_path: Path) -> None:
    traces = (random_trace(f"random-{seed:04d}", seed) for seed in range(RANDOM_TRACES))
    assert assert_equal(python, write(tmp_path, traces)) < RANDOM_TRACES / 10


@pytest.mark.skipif(not BENCH.is_dir(), reason="the generator of synthetic sessions is not on this machine")
@pytest.mark.parametrize("seed", [7, 11, 12, 13, 14, 15])
def test_generated_sessions(python: Path, tmp_path: Path, seed: int) -> None:
    generate = [sys.executable, str(BENCH / "gen_weka.py"), str(tmp_path), "--seed", str(seed)]
    subprocess.run(generate, check=True, capture_output=True)
    assert assert_equal(python, tmp_path) == 0


@pytest.mark.skipif(not REAL.is_dir(), reason="the public traces are not on this machine")
def test_real_sessions(python: Path) -> None:
    assert assert_equal(python, REAL) == 0
