"""Whole replays against what SGLang, TensorRT-LLM and ATOM document: nothing is sent that they do not know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import replay.content_pool
from corpus.errors import InputError
from corpus.run import read_run
from replay.addressing import HINTS
from replay.engines import ENGINES, EngineName
from replay.run import run_replay
from replay.server import reset_cache
from tests.replay.engine_fakes import DOCUMENTED, EngineFake
from tests.replay.loopback import serving
from tests.replay.rehearsal import WordTokenizer
from tests.replay.test_run import quiet, served, settings, tree


@pytest.fixture(autouse=True)
def _words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay.content_pool, "load_tokenizer", lambda _name, **_options: WordTokenizer())


def replayed(engine: EngineName, out: Path, **changes: Any) -> tuple[EngineFake, dict[str, Any]]:
    endpoint = "completions" if ENGINES[engine].ids else "chat"
    with served(EngineFake(engine)) as server:
        assert isinstance(server, EngineFake)
        metrics = (server.url + server.documented.metrics_path,)
        asked = settings(server, out, endpoint=endpoint, metrics_urls=metrics, speedup=20, **changes)
        return server, run_replay([tree(0)], asked, quiet)


@pytest.mark.parametrize("engine", DOCUMENTED)
def test_a_replay_with_all_hints_sends_only_what_the_engine_documents(engine: EngineName, tmp_path: Path) -> None:
    server, summary = replayed(engine, tmp_path / "run", hints=frozenset(HINTS))
    assert server.broken == []
    assert summary["engine"] == engine
    assert summary["errors_by_class"] == {"context_overflow": 1}
    assert summary["edge_violations"] == 0
    for row in read_run(tmp_path / "run").requests:
        assert row.error or row.measured_output_tokens == row.planned_output_tokens


@pytest.mark.parametrize("engine", DOCUMENTED)
def test_its_metrics_have_our_names(engine: EngineName, tmp_path: Path) -> None:
    _, summary = replayed(engine, tmp_path / "run")
    profile = summary["server"]["profile"]
    assert {"running", "kv_used_share", "prompt_tokens", "output_tokens"} <= profile.keys()
    assert (profile["running"]["max"], profile["kv_used_share"]["max"]) == (2, 0.25)


def test_sglang_is_told_the_rank_of_each_session(tmp_path: Path) -> None:
    server, _ = replayed("sglang", tmp_path / "run", dp_ranks=2)
    assert server.broken == []
    ranks = {headers["X-data-parallel-rank"] for headers in server.headers if "X-SMG-Routing-Key" in headers}
    assert ranks == {"0"}


def test_atom_is_not_sent_token_ids(tmp_path: Path) -> None:
    with served(EngineFake("atom")) as server, pytest.raises(InputError, match="ATOM takes no token ids"):
        run_replay([tree(0)], settings(server, tmp_path / "run"), quiet)
    assert server.bodies == []


@pytest.mark.parametrize("engine", DOCUMENTED)
async def test_its_cache_is_emptied_where_it_documents_how(engine: EngineName) -> None:
    async with serving(EngineFake(engine)) as server:
        problem = await reset_cache(server.url, ENGINES[engine], {})
    assert bool(DOCUMENTED[engine].reset) == (not problem)
