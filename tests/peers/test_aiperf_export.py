"""aiperf's own code reads the runs that we export for it: its record model, its plots' table, its swim lanes."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from corpus.run import read_run
from report.aiperf import aiperf_lines
from tests.peers import aiperf_peer

READER = Path(__file__).with_name("export_reader.py")
RUN = Path(__file__).resolve().parents[2] / "samples" / "run"


def test_aiperf_reads_every_request_and_its_time_to_first_token(tmp_path: Path) -> None:
    python = aiperf_peer.python_of("aiperf")
    if python is None:
        pytest.skip("aiperf cannot be had")
    run = read_run(RUN)
    (tmp_path / "profile_export.jsonl").write_bytes(b"".join(aiperf_lines(run)))
    done = subprocess.run([python, READER, tmp_path], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    sent = [row for row in run.requests if row.sent_us is not None]
    profiled = [row for row in sent if row.phase == "profile"]
    first = sorted((row.first_token_us - row.sent_us) / 1000 for row in profiled if row.first_token_us and row.sent_us)
    assert told["records"] == len(sent)
    assert told["time_to_first_token"] == pytest.approx(first)
    agents = Counter((row.play, row.agent) for row in sent)
    assert sorted(told["sessions"].values()) == sorted(agents.values())
