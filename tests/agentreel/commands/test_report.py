from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

from corpus.run import read_run
from corpus.sweep import claim_group, point_path

Call = Callable[..., Any]


def test_a_page_shows_captures_a_corpus_and_a_run(agentreel: Call, chain: Any, tmp_path: Path) -> None:
    said = agentreel("report", chain.captures, chain.corpus, chain.run, "-o", tmp_path / "page.html")
    assert said.code == 0
    page = (tmp_path / "page.html").read_text()
    assert "default-src 'none'" in page
    assert "http://" not in page.replace("http://www.w3.org/", "").replace(str(chain.folder), "")[:2000]
    for title in ("captures", "corpus", "run"):
        assert title in page


def test_an_existing_page_is_refused_without_force(agentreel: Call, chain: Any, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("mine")
    assert agentreel("report", chain.corpus, "-o", tmp_path / "page.html").code == 1
    assert (tmp_path / "page.html").read_text() == "mine"
    assert agentreel("report", chain.corpus, "-o", tmp_path / "page.html", "--force").code == 0
    assert (tmp_path / "page.html").read_text() != "mine"


def test_a_path_that_is_nothing_known_is_one_line(agentreel: Call, tmp_path: Path) -> None:
    said = agentreel("report", tmp_path / "nothing", "-o", tmp_path / "page.html")
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert not (tmp_path / "page.html").exists()


def test_a_page_shows_a_calibration(agentreel: Call, chain: Any, tmp_path: Path) -> None:
    assert agentreel("calibrate", chain.captures, "-o", tmp_path / "calibration.json").code == 0
    assert agentreel("report", tmp_path / "calibration.json", "-o", tmp_path / "page.html").code == 0
    assert "of sessions held out" in (tmp_path / "page.html").read_text()


def test_a_run_becomes_a_trace_that_perfetto_reads(agentreel: Call, chain: Any, tmp_path: Path) -> None:
    assert agentreel("report", chain.run, "--perfetto", tmp_path / "run.pftrace").code == 0
    packets = Trace.FromString((tmp_path / "run.pftrace").read_bytes()).packet
    names = {packet.track_descriptor.name for packet in packets}
    assert {"in flight", "lane 0", "main, recorded", "main, replayed"} <= names
    flows = Counter(
        flow for packet in packets for flow in (*packet.track_event.flow_ids, *packet.track_event.terminating_flow_ids)
    )
    assert flows
    assert set(flows.values()) == {2}
    assert agentreel("report", chain.run, "--perfetto", tmp_path / "run.pftrace").code == 1


def test_a_trace_is_of_one_run(agentreel: Call, chain: Any, tmp_path: Path) -> None:
    file = tmp_path / "run.pftrace"
    assert agentreel("report", chain.run, chain.run, "--perfetto", file).code == 2
    assert agentreel("report", chain.run).code == 2
    said = agentreel("report", chain.corpus, "--perfetto", file)
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert not file.exists()


def test_a_run_becomes_records_of_aiperf(agentreel: Call, chain: Any, tmp_path: Path) -> None:
    assert agentreel("report", chain.run, "--aiperf", tmp_path / "profile_export.jsonl").code == 0
    records = [json.loads(line) for line in (tmp_path / "profile_export.jsonl").read_text().splitlines()]
    assert len(records) == len(read_run(chain.run).requests)
    assert all(record["metrics"]["time_to_first_token"]["unit"] == "ms" for record in records)


def test_a_sweep_is_shown_as_its_runs(agentreel: Call, chain: Any, tmp_path: Path) -> None:
    claim_group(tmp_path / "sweep", "chips=8", {})
    page = tmp_path / "page.html"
    said = agentreel("report", tmp_path / "sweep", "-o", page)
    assert (said.code, "no point of this sweep has been run" in said.err) == (1, True)
    for concurrency in (1, 2):
        shutil.copytree(chain.run, point_path(tmp_path / "sweep", "chips=8", concurrency))
    assert agentreel("report", tmp_path / "sweep", "-o", page).code == 0
    assert "chips=8, 2 sessions" in page.read_text()
