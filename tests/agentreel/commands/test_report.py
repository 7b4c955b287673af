from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

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
