"""A real vLLM on the CPU: what was planned is what it counts, generates and serves from its prefix cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentreel.source import read_source
from corpus.card import Card
from corpus.run import Run
from corpus.session import Session
from corpus.tables import write_corpus
from tests.engines.cache_truth import order_may_cost, truths
from tests.engines.conftest import Say
from tests.engines.replays import counted, replay, sentence
from tests.replay.rehearsal import Asked, edge, session_of

TRACE = Path(__file__).resolve().parents[2].parent / "shared" / "traces" / "weka" / "trace_0277.json"
TRACE_CONTEXT = 32_768  # tokens; what a CPU prefills in a second
# Six prompts that share 6,400 to 25,600 tokens of one prefix and then go on alone for 640, in blocks.
SIBLINGS = tuple(
    (*range(2, 2 + shared), *range(1000 + 10 * number, 1010 + 10 * number))
    for number, shared in enumerate((400, 400, 300, 400, 100, 200))
)


def assert_exact(run: Run) -> None:
    """Nothing was counted, cut or ordered otherwise than planned."""
    assert run.summary["errors"] == 0
    assert run.summary["warmup_errors"] == 0
    assert run.summary["token_error"]["max"] == 0
    assert run.summary["edge_violations"] == 0
    assert run.summary["early_roots"] == 0
    done = [row for row in run.requests if row.error is None]
    assert done
    for row in done:
        assert row.measured_input_tokens == row.planned_input_tokens
        assert row.measured_output_tokens == row.planned_output_tokens


def assert_cached_as_predicted(run: Run, sessions: list[Session]) -> str:
    """To the block for every request; where the server's own queue decides, within the exact range, and in sum.

    Returns one line of counts.
    """
    found = truths(run.requests, sessions)
    assert len(found) == sum(row.error is None for row in run.requests)
    for truth in found:
        assert truth.is_true, truth
        assert truth.is_predicted or truth.is_ambiguous, truth
    cached = sum(truth.row.cached_tokens or 0 for truth in found)
    predicted = sum(truth.row.predicted_cached_tokens or 0 for truth in found)
    assert abs(cached - predicted) <= order_may_cost(found, 64)
    ambiguous = [truth for truth in found if truth.is_ambiguous]
    otherwise = sum(not truth.is_predicted for truth in ambiguous)
    return f"{len(found) - len(ambiguous)} settled, {len(ambiguous)} left to the queue, {otherwise} of them reordered"


def test_recorded_corpus_is_replayed_to_the_token_and_cached_to_the_block(
    empty_vllm: str, any_corpus: tuple[str, Path], tmp_path: Path, say: Say
) -> None:
    whose, corpus = any_corpus
    options = ("--warmup", "none", "--concurrency", "3", "--metrics-url", empty_vllm)
    run = replay(corpus, empty_vllm, tmp_path / "run", *options)
    sessions = list(read_source(str(corpus)))
    assert run.summary["requests"] == sum(len(session.requests) for session in sessions)
    assert run.summary["sessions_completed"] == len(sessions)
    assert run.summary["warnings"] == {}
    assert_exact(run)
    counts = assert_cached_as_predicted(run, sessions)
    grown = counted(tmp_path / "run")
    assert grown["prompt_tokens"] == grown["hbm_query_tokens"] == run.summary["input_tokens"]
    assert grown["hbm_hit_tokens"] == grown["prompt_local_hit_tokens"] == run.summary["cached_tokens"]
    assert grown["prompt_computed_tokens"] == run.summary["input_tokens"] - run.summary["cached_tokens"]
    assert grown["output_tokens"] == run.summary["output_tokens"]
    assert run.summary["engine"] == "vllm"
    assert run.summary["critical_path_shares"]["queue"] is not None
    say(f"{sentence(f'vLLM, recorded from {whose}', run)}; {counts}")


def test_public_trace_is_replayed_to_the_token_and_what_was_cut_is_told(
    empty_vllm: str, tmp_path: Path, say: Say
) -> None:
    if not TRACE.is_file():
        pytest.skip(f"no {TRACE.name} beside the checkout (shared/traces/weka)")
    sessions = list(read_source(str(TRACE)))
    requests = [request for session in sessions for request in session.requests]
    fitting = [r for r in requests if r.input_tokens and r.input_tokens + (r.output_tokens or 1) <= TRACE_CONTEXT]
    options = ("--warmup", "none", "--speedup", "100", "--max-context", str(TRACE_CONTEXT))
    run = replay(TRACE, empty_vllm, tmp_path / "run", *options)
    assert run.summary["requests"] == len(fitting) >= 10
    assert sum(run.summary["dropped_requests"].values()) == len(requests) - len(fitting)
    assert run.summary["dropped_share"] == pytest.approx(1 - len(fitting) / len(requests))
    assert_exact(run)
    counts = assert_cached_as_predicted(run, sessions)
    say(f"{sentence('vLLM, ' + TRACE.name, run)}; {counts}")


def test_steady_run_with_warmup_and_recycled_sessions_stays_exact(
    empty_vllm: str, corpus: Path, tmp_path: Path, say: Say
) -> None:
    run = replay(corpus, empty_vllm, tmp_path / "run", "--concurrency", "2", "--duration", "20")
    assert run.summary["warmup_requests"] > 0
    assert {row.error for row in run.requests} <= {None, "cut"}
    assert_exact(run)
    counts = assert_cached_as_predicted(run, list(read_source(str(corpus))))
    say(f"{sentence('vLLM, steady', run)}; {run.summary['warmup_requests']} to warm up; {counts}")


def test_cold_siblings_sent_at_once_compute_their_common_prefix_once(empty_vllm: str, tmp_path: Path, say: Say) -> None:
    """Prompts are computed in chunks of 8,192 tokens: the others start while the first one is being computed."""
    session = session_of(
        [
            Asked(0, 1, (1,), input_tokens=65),
            *(Asked(2, 9, blocks, 64 * len(blocks) + 7, agent=n + 1) for n, blocks in enumerate(SIBLINGS)),
        ],
        [edge(0, n + 1, 1, kind="spawn") for n in range(len(SIBLINGS))],
    )
    corpus = tmp_path / "corpus"
    write_corpus(corpus, [session], Card("a test of agentreel"))
    run = replay(corpus, empty_vllm, tmp_path / "run", "--warmup", "none", "--speedup", "1000")
    assert_exact(run)
    found = truths(run.requests, [session])
    assert sum(truth.is_ambiguous for truth in found) >= len(SIBLINGS) - 1
    counts = assert_cached_as_predicted(run, [session])
    distinct = len({block for blocks in SIBLINGS for block in blocks})
    cached = sum(truth.row.cached_tokens or 0 for truth in found)
    assert cached == 64 * (sum(map(len, SIBLINGS)) - distinct)
    say(f"{sentence('vLLM, cold siblings', run)}; {counts}")
