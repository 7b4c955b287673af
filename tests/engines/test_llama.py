"""A real llama.cpp server: another dialect of the same API. It caches one prompt a slot, so hits are its own affair."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentreel.source import read_source
from tests.engines.conftest import Say
from tests.engines.replays import counted, replay, sentence


def test_recorded_corpus_is_replayed_to_the_token(
    llama: str, any_corpus: tuple[str, Path], tmp_path: Path, say: Say
) -> None:
    whose, corpus = any_corpus
    options = ("--warmup", "none", "--concurrency", "3", "--metrics-url", llama)
    run = replay(corpus, llama, tmp_path / "run", *options)
    assert run.summary["requests"] == sum(len(session.requests) for session in read_source(str(corpus)))
    assert (run.summary["errors"], run.summary["edge_violations"], run.summary["early_roots"]) == (0, 0, 0)
    assert run.summary["token_error"]["max"] == 0
    assert run.summary["warnings"] == {}  # usage, cached tokens and output length of every request
    for row in run.requests:
        assert row.measured_input_tokens == row.planned_input_tokens
        assert row.measured_output_tokens == row.planned_output_tokens
        assert row.cached_tokens is not None
        assert row.cached_tokens < row.planned_input_tokens
    grown = counted(tmp_path / "run")
    assert run.summary["engine"] == "llamacpp"
    # Its metrics page prints six digits of a number: off by 4 either way at 1.7 million.
    assert grown["prompt_tokens"] == pytest.approx(run.summary["input_tokens"], rel=1e-5)
    assert grown["prompt_local_hit_tokens"] == pytest.approx(run.summary["cached_tokens"], rel=1e-5)
    assert grown["output_tokens"] == run.summary["output_tokens"]
    say(sentence(f"llama.cpp, recorded from {whose}", run))
