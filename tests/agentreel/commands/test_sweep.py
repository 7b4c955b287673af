from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import replay.run
from agentreel.process import serve_command
from corpus.run import read_run

Call = Callable[..., Any]
SAMPLE = Path(__file__).resolve().parents[3] / "samples" / "corpus"
OPTIONS = ("--model", "standin", "--warmup", "none", "--speedup", "100", "--concurrency", "1,2")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve_command(("standin", "engine", "--json"), tmp_path_factory.mktemp("logs") / "engine.log") as ready:
        yield ready["url"]


def test_a_sweep_empties_the_cache_goes_on_where_it_stopped_and_takes_another_group(
    agentreel: Call, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay.run, "make_pool", lambda _name: pytest.fail("content is made once for all points"))
    out = tmp_path / "sweep"
    said = agentreel("sweep", SAMPLE, "--url", engine, *OPTIONS, "--price", "2", "--out", out, "--json")
    assert said.code == 0, said.err
    points = json.loads(said.out)["points"]
    assert [(point["group"], point["concurrency"], point["errors"]) for point in points] == [
        ("all", 1, 0),
        ("all", 2, 0),
    ]
    assert any(point["on_front"] for point in points)
    assert all(point["usd_per_million_tokens"] > 0 for point in points)
    for point in points:
        summary = read_run(Path(point["run"])).summary
        assert (summary["cached_tokens"], summary["warnings"]) == (summary["predicted_cached_tokens"], {})

    kept = (out / "all" / "concurrency-2" / "summary.json").read_bytes()
    shutil.rmtree(out / "all" / "concurrency-1")
    again = agentreel("sweep", SAMPLE, "--url", engine, *OPTIONS, "--price", "2", "--out", out)
    assert again.code == 0
    assert "concurrency 2 (2 of 2): done before, kept" in again.err
    assert (out / "all" / "concurrency-2" / "summary.json").read_bytes() == kept
    assert "Pareto front" in again.out

    options = ("--label", "chips=4", "--engine", "llamacpp", "--out", out, "--json")
    other = agentreel("sweep", SAMPLE, "--url", engine, *OPTIONS, *options)
    assert "cannot be emptied (llama.cpp empties its cache only by a restart" in other.err
    points = json.loads(other.out)["points"]
    assert [(point["group"], point["seed"]) for point in points] == [("all", 42)] * 2 + [
        ("chips=4", 43),
        ("chips=4", 44),
    ]
    assert read_run(Path(points[3]["run"])).summary["warnings"] == {}


def test_other_settings_in_the_same_group_are_refused(agentreel: Call, tmp_path: Path) -> None:
    where = ("--url", "http://127.0.0.1:9", "--out", tmp_path / "sweep")
    assert "cannot reach" in agentreel("sweep", SAMPLE, *OPTIONS, *where).err
    said = agentreel("sweep", SAMPLE, *OPTIONS, *where, "--seed", "7")
    assert (said.code, "another seed (42, not 7)" in said.err) == (1, True)


def test_a_concurrency_that_is_none_is_one_line(agentreel: Call, tmp_path: Path) -> None:
    options = ("--url", "http://127.0.0.1:9", "--model", "m", "--out", tmp_path / "s", "--concurrency", "1,two")
    assert "'1,two' is no list of numbers" in agentreel("sweep", SAMPLE, *options).err
