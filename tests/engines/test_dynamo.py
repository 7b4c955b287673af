"""Dynamo's frontend, its KV router and two simulated workers: a cache that is spread over workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines.conftest import Say, started
from tests.engines.dynamo import Isolated, isolated_python, serving_dynamo
from tests.engines.replays import counted, replay, sentence


@pytest.fixture(scope="module")
def dynamo(say: Say) -> Iterator[Isolated]:
    with started("Dynamo", isolated_python, serving_dynamo, say) as server:
        yield server


def test_recorded_corpus_is_replayed_through_the_kv_router(
    dynamo: Isolated, any_corpus: tuple[str, Path], tmp_path: Path, say: Say
) -> None:
    whose, corpus = any_corpus
    out = tmp_path / "run"
    options = ("--warmup", "none", "--concurrency", "3")
    run = replay(corpus, dynamo.url, out, *options, enter=dynamo.enter)
    assert (run.summary["errors"], run.summary["edge_violations"], run.summary["early_roots"]) == (0, 0, 0)
    assert run.summary["token_error"]["max"] == 0
    for row in run.requests:
        assert row.measured_input_tokens == row.planned_input_tokens
        assert row.measured_output_tokens == row.planned_output_tokens
    assert 0 < run.summary["cached_tokens"] < run.summary["input_tokens"]
    say(sentence(f"Dynamo, recorded from {whose}", run))


def test_hints_are_taken_and_metrics_tell_what_the_answers_told(
    dynamo: Isolated, corpus: Path, tmp_path: Path, say: Say
) -> None:
    out = tmp_path / "run"
    options = ("--warmup", "none", "--concurrency", "3", "--speedup", "10", "--seed", "7", "--hints", "all")
    run = replay(corpus, dynamo.url, out, *options, "--metrics-url", dynamo.url, enter=dynamo.enter)
    assert (run.summary["engine"], run.summary["errors"], run.summary["edge_violations"]) == ("dynamo", 0, 0)
    (source,) = run.summary["server"]["sources"].values()
    assert source["failures"] == 0
    grown = counted(out)
    assert grown["prompt_tokens"] == run.summary["input_tokens"]
    assert grown["output_tokens"] == run.summary["output_tokens"]
    assert grown["hbm_hit_tokens"] == run.summary["cached_tokens"]
    say(sentence("Dynamo, with hints", run))
