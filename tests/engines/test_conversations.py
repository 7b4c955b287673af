"""Prompts as conversations on vLLM: its chat template adds tokens, and still it counts what was planned.

What agentreel knows of the template is what the server counted of a few tiny conversations before the run.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from corpus.run import SentRequest
from tests.engines.conftest import Say
from tests.engines.replays import replay, sentence


def cached_and_predicted(row: SentRequest) -> tuple[int, int]:
    assert row.cached_tokens is not None
    assert row.predicted_cached_tokens is not None
    return row.cached_tokens, row.predicted_cached_tokens


@pytest.mark.parametrize("endpoint", ["chat", "messages", "responses"])
def test_vllm_counts_every_conversation_as_planned(
    endpoint: str, empty_vllm: str, corpus: Path, tmp_path: Path, say: Say
) -> None:
    options = ("--endpoint", endpoint, "--warmup", "none", "--concurrency", "7", "--max-context", "12000")
    run = replay(corpus, empty_vllm, tmp_path / "run", *options)
    assert (run.summary["errors"], run.summary["edge_violations"]) == (0, 0)
    assert run.summary["requests"] >= 10
    assert run.config["framing"]["sent_as_text"] == []
    assert run.config["framing"]["off_by_tokens"] == 0
    assert [row.measured_input_tokens for row in run.requests] == [row.planned_input_tokens for row in run.requests]
    assert run.summary["token_error"] == {"p50": 0, "p99": 0, "max": 0}
    # A prompt that ends a few tokens behind a block, and is not answered next, has the template's in that block.
    less = [predicted - cached for cached, predicted in map(cached_and_predicted, run.requests) if cached != predicted]
    assert set(less) <= {64}
    assert len(less) <= len(run.requests) / 20
    say(sentence(f"vLLM, {endpoint}", run))
